"""RFFT2D and complex tensors, against LiteRT."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.errors import BadDataError
from tests.importers.tflite.against_litert import litert, loaded, run
from tests.tflite_writer import Graph, T, const, f32, single, write


def spectrum(shape: tuple[int, ...], lengths: tuple[int, int], part: str) -> bytes:
    """A file that transforms, reshapes and takes a part."""
    x, bins = f32(*shape), (*shape[:-2], lengths[0], lengths[1] // 2 + 1)
    whole, flat = T("COMPLEX64", bins), T("COMPLEX64", (int(np.prod(bins)),))
    out = f32(*flat.shape)
    graph = Graph().operator("RFFT2D", [x, const(lengths)], [whole])
    graph.operator("RESHAPE", [whole, const(flat.shape)], [flat]).operator(part, [flat], [out])
    return write(graph.between([x], [out]))


@pytest.mark.parametrize("part", ["REAL", "IMAG", "COMPLEX_ABS"])
@pytest.mark.parametrize(
    ("shape", "lengths"), [((3, 1, 16), (1, 16)), ((2, 8, 16), (8, 16)), ((4, 8), (4, 16)), ((2, 6, 9), (4, 8))]
)
def test_parts_of_a_spectrum(shape: tuple[int, ...], lengths: tuple[int, int], part: str, tmp_path: Path) -> None:
    content = spectrum(shape, lengths, part)
    x = np.random.default_rng(2).normal(size=shape).astype(np.float32)
    model = loaded(content, tmp_path)
    assert sum(call.name == "DFT" for call in model.operations) == (1 if lengths[0] == 1 else 2)
    np.testing.assert_allclose(run(model, [x])[0], litert(content, [x])[0], 0, 1e-5)


@pytest.mark.parametrize("to", ["FLOAT32", "INT32", "FLOAT16"])
def test_a_cast_takes_the_real_part(to: str, tmp_path: Path) -> None:
    """The short-time transform of TensorFlow squeezes and casts its spectrum."""
    x, whole, narrow = f32(3, 1, 16), T("COMPLEX64", (3, 1, 9)), T("COMPLEX64", (3, 9))
    wide, out = T("COMPLEX64", (3, 1, 9)), T(to, (3, 1, 9))
    graph = Graph().operator("RFFT2D", [x, const([1, 16])], [whole])
    graph.operator("SQUEEZE", [whole], [narrow], "SqueezeOptions", SqueezeDims=[-2])
    graph.operator("EXPAND_DIMS", [narrow, const(-2)], [wide], "ExpandDimsOptions")
    content = write(graph.operator("CAST", [wide], [out], "CastOptions").between([x], [out]))
    array = np.random.default_rng(5).normal(size=x.shape).astype(np.float32)
    (ours,), (theirs,) = run(loaded(content, tmp_path), [array]), litert(content, [array])
    assert ours.dtype == theirs.dtype
    np.testing.assert_allclose(ours, theirs, 0, 1e-5 if to == "FLOAT32" else 4e-3)


def test_casts_to_complex_numbers_are_refused(tmp_path: Path) -> None:
    content = single("CAST", [f32(4)], [T("COMPLEX64", (4,), name="y")], "CastOptions")
    with pytest.raises(BadDataError, match="y is complex, NNAPI has no complex numbers"):
        loaded(content, tmp_path)


@pytest.mark.engine
def test_the_drop_in_returns_complex_numbers() -> None:
    theirs = pytest.importorskip("ai_edge_litert.interpreter", reason="LiteRT is not installed")
    import nnapi.litert as ours

    x, out = f32(2, 1, 8), T("COMPLEX64", (2, 1, 5))
    content = single("RFFT2D", [x, const([1, 8])], [out])
    array, found = np.random.default_rng(3).normal(size=x.shape).astype(np.float32), []
    for module in (theirs, ours):
        interpreter: Any = module.Interpreter(model_content=content)
        interpreter.allocate_tensors()
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], array)
        interpreter.invoke()
        found.append(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]))
    assert found[1].dtype == np.complex64
    np.testing.assert_allclose(found[1], found[0], 0, 1e-5)


def test_other_operators_on_complex_numbers_are_refused(tmp_path: Path) -> None:
    x, y, out = (T("COMPLEX64", (4,), name=name) for name in "xyz")
    with pytest.raises(BadDataError, match="x is complex, NNAPI has no complex numbers"):
        loaded(single("ADD", [x, y], [out], "AddOptions"), tmp_path)


@pytest.mark.engine
def test_yamnet(shared: Path) -> None:
    """The file computes its spectrogram; a byte of its quantized scores is 1/256."""
    path = shared / "models-3/yamnet_wavin_relu6.tflite"
    wave = np.sin(np.arange(15600) * (2 * np.pi * 440 / 16000)).astype(np.float32) / 2
    (expected,) = litert(path.read_bytes(), [wave])
    for device in (["nnapi-reference"], None):
        (found,) = nnapi.compile(nnapi.load(path), device).run(wave)
        np.testing.assert_allclose(found, expected, 0, 2 / 256)
        assert found.argmax() == expected.argmax()
