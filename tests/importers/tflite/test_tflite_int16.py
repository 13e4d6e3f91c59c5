"""Networks of 16-bit quantized values, imported as floats on request."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.errors import BadDataError
from nnapi.importers import import_cache
from nnapi.model.lazy_model import LazyModel
from tests.importers.tflite.against_litert import litert
from tests.tflite_writer import Graph, T, f32, s8, single, write

RNG = np.random.default_rng(9)
SCALE = 4 / 32768


def s16(*shape: int, scale: float = SCALE) -> T:
    return T("INT16", shape, scale, 0)


def network(bias: str = "INT64") -> tuple[bytes, T, T]:
    """QUANTIZE, a convolution with a scale per channel, LOGISTIC, an addition, DEQUANTIZE."""
    x, y, rng = f32(1, 6, 6, 3), f32(1, 6, 6, 4), np.random.default_rng(2)
    scales = np.array([0.01, 0.02, 0.015, 0.005])
    filter = T("INT8", (4, 3, 3, 3), scales, 0, rng.integers(-127, 128, (4, 3, 3, 3)))
    biases = T(bias, (4,), scales * SCALE, 0, rng.integers(-9000, 9000, 4))
    codes, wide, small = s16(1, 6, 6, 3), s16(1, 6, 6, 4, scale=2e-3), s16(1, 6, 6, 4, scale=1 / 32768)
    summed = s16(1, 6, 6, 4, scale=2e-3)
    graph = Graph().operator("QUANTIZE", [x], [codes])
    graph.operator("CONV_2D", [codes, filter, biases], [wide], "Conv2DOptions", StrideW=1, StrideH=1)
    graph.operator("LOGISTIC", [wide], [small])
    graph.operator("ADD", [wide, small], [summed], "AddOptions")
    graph.operator("DEQUANTIZE", [summed], [y])
    return write(graph.between([x], [y])), x, y


@pytest.mark.engine
def test_a_network_computes_what_litert_does() -> None:
    content, x, _ = network()
    given = RNG.uniform(-2, 2, x.shape).astype(np.float32)
    model = nnapi.load(content, int16_as_float=True)
    (ours,) = nnapi.compile(model, "nnapi-reference").run(given)
    (theirs,) = litert(content, [given])
    assert np.abs(ours - theirs).max() <= 3 * 2e-3
    assert any("16-bit quantized values are float32" in note and "0.001" in note for note in model.notes)


def test_biases_of_32_bits_mean_what_those_of_64_do() -> None:
    given = RNG.uniform(-2, 2, (1, 6, 6, 3)).astype(np.float32)
    models = [nnapi.load(network(bias)[0], int16_as_float=True) for bias in ("INT64", "INT32")]
    first, second = (nnapi.compile(model, "nnapi-reference").run(given)[0] for model in models)
    np.testing.assert_allclose(first, second, 1e-6, 1e-6)


def test_without_asking_they_are_refused_with_the_way_out() -> None:
    with pytest.raises(nnapi.NnapiError, match=r"int16_as_float=True \(--int16-as-float\)"):
        nnapi.load(network()[0])


def test_inputs_outputs_and_constants_of_16_bits_are_float32() -> None:
    added = s16(3).of([100, -200, 300])
    content = single("ADD", [s16(3), added], s16(3), "AddOptions")
    model = nnapi.load(content, int16_as_float=True)
    x = np.array([1, 2, 3], np.float32)
    (found,) = nnapi.compile(model, "nnapi-reference").run(x)
    np.testing.assert_allclose(found, x + np.array([100, -200, 300]) * SCALE, 1e-6)


def test_between_16_and_8_bits() -> None:
    wide, y = s16(4), s8(4, scale=0.05, zero_point=0)
    x = s8(4, scale=0.02, zero_point=0)
    graph = Graph().operator("QUANTIZE", [x], [wide]).operator("QUANTIZE", [wide], [y])
    model = nnapi.load(write(graph.between([x], [y])), int16_as_float=True)
    (found,) = nnapi.compile(model, "nnapi-reference").run(np.array([5, 10, -20, 120], np.int8))
    assert found.tolist() == [2, 4, -8, 48]


def test_constants_with_a_zero_point_are_refused_computed_values_are_floats() -> None:
    shifted = [T("INT16", (2,), 0.1, 5) for _ in range(2)]
    model = nnapi.load(single("ABS", shifted[:1], shifted[1]), int16_as_float=True)
    (found,) = nnapi.compile(model, "nnapi-reference").run(np.array([-2, 3], np.float32))
    assert found.tolist() == [2, 3]
    constant = T("INT16", (2,), 0.1, 5).of([1, 2])
    content = single("ADD", [s16(2), constant], s16(2), "AddOptions")
    with pytest.raises(nnapi.NnapiError, match=r"zero point|with a zero point"):
        nnapi.load(content, int16_as_float=True)


def test_a_result_of_32_bits_is_float_too_and_else_the_message_names_it() -> None:
    wide, y = s16(2), T("INT32", (2,), 1e-4, 0)
    x = f32(2)
    graph = Graph().operator("QUANTIZE", [x], [wide]).operator("QUANTIZE", [wide], [y])
    content = write(graph.between([x], [y]))
    model = nnapi.load(content, int16_as_float=True)
    (found,) = nnapi.compile(model, "nnapi-reference").run(np.array([-0.25, 0.5], np.float32))
    assert found.tolist() == [-0.25, 0.5]
    with pytest.raises(nnapi.NnapiError, match=r"NNAPI quantizes to 8 bits, (\S.*|the result) is TENSOR_INT32"):
        nnapi.load(write(Graph().operator("QUANTIZE", [x], [y]).between([x], [y])))


@pytest.mark.shared
@pytest.mark.parametrize("network_name", ["tflm_keyword_svdf", "tflm_keyword_svdf_int8"])
def test_a_published_network_follows_the_advice(shared: Path, network_name: str) -> None:
    file = shared / f"models-2/{network_name}.tflite"
    with pytest.raises(nnapi.NnapiError, match=r"--int16-as-float"):
        nnapi.load(file)
    model = nnapi.load(file, int16_as_float=True)
    (found,) = nnapi.compile(model, "nnapi-reference").run(np.zeros((1, 96), np.float32))
    assert found.sum() == pytest.approx(1, abs=1e-3)


def test_integers_of_16_bits_that_are_no_codes_stay_refused() -> None:
    with pytest.raises(nnapi.NnapiError, match="INT16 without a scale"):
        nnapi.load(single("ABS", [T("INT16", (2,))], T("INT16", (2,))), int16_as_float=True)


def test_it_is_for_tflite(tmp_path: Path) -> None:
    onnx: Any = pytest.importorskip("onnx", reason="onnx is not installed")
    ends = [onnx.helper.make_tensor_value_info(name, 1, [2]) for name in "xy"]
    graph = onnx.helper.make_graph([onnx.helper.make_node("Abs", ["x"], ["y"])], "g", ends[:1], ends[1:])
    onnx.save_model(onnx.helper.make_model(graph), tmp_path / "abs.onnx")
    with pytest.raises(BadDataError, match="int16_as_float is for .tflite"):
        nnapi.load(tmp_path / "abs.onnx", int16_as_float=True)


def test_a_file_is_not_remembered_as_what_was_asked_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NNAPI_CACHE_DIR", str(tmp_path / "kept"))
    monkeypatch.setattr(import_cache, "SETTLED", 0)
    path = tmp_path / "network.tflite"
    path.write_bytes(network()[0])
    model = nnapi.load(path, int16_as_float=True)
    assert model.origin is not None
    model.origin.keep(model)
    assert isinstance(nnapi.load(path, int16_as_float=True), LazyModel)
    with pytest.raises(BadDataError, match="int16_as_float=True"):
        nnapi.load(path)


def test_a_note_names_the_coarsest_scale_of_16_bits_if_there_is_one() -> None:
    def notes(*scales: float) -> list[str]:
        tensors = [s16(2, scale=scale) for scale in scales] or [f32(2), f32(2)]
        model = nnapi.load(single("RELU", tensors[:1], tensors[-1]), int16_as_float=True)
        return [note for note in model.notes if "16-bit" in note]

    assert notes() == []
    (note,) = notes(0.01, 0.25)
    assert "each differs by at most half of its scale, 0.125 for the coarsest" in note
    assert notes(0.25, 0.01) == [note]
