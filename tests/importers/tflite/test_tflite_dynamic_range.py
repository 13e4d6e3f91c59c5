"""Weights of float operations that stay codes, on request: what is computed with them, and how far off that may be."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.codes import OperationCode
from nnapi.drivers.limited import Limited
from nnapi.errors import BadDataError
from nnapi.model.model import DYNAMIC_RANGE, Lifetime
from nnapi.runtime.device import Device
from nnapi.runtime.planning.plan import Run
from tests.dynamic_range_cases import CASES, dense, make_input, make_weights, recurrent
from tests.engines import DRIVERS, find_device
from tests.importers.tflite.against_litert import litert
from tests.tflite_writer import Graph, T, const, f32, single, write

Array = np.ndarray[Any, Any]
COMPUTED_WITH_CODES = [name for name in CASES if name != "depthwise"]
each = pytest.mark.parametrize("name", CASES)


def compute(model: nnapi.Model, device: str, x: Array) -> Array:
    (y,) = nnapi.compile(model, find_device(device)).run(x)
    return np.asarray(y)


def allow(name: str, x: Array) -> Array:
    """How far results may be off by the note: each weight times 1/250 of the range of its row or image."""
    axes = tuple(range(1, x.ndim))
    ranges = np.maximum(x.max(axes, keepdims=True), 0) - np.minimum(x.min(axes, keepdims=True), 0)
    rounded = np.broadcast_to(ranges / 250, x.shape).astype(np.float32)
    return compute(nnapi.load(CASES[name](sign=False)), "nnapi-reference", rounded)


@pytest.mark.engine
@each
def test_results_are_off_by_what_the_note_says(name: str) -> None:
    content = CASES[name]()
    model = nnapi.load(content, weights="dynamic-range")
    assert model.notes == (DYNAMIC_RANGE,)
    x = make_input(model)
    exact = compute(nnapi.load(content), "nnapi-reference", x)
    found = compute(model, "xnnpack-cpu", x)
    error, allowed = np.abs(found - exact), allow(name, x)
    assert (error <= allowed).all(), (error / allowed).max()
    assert ((error / allowed).max() > 0.01) == (name in COMPUTED_WITH_CODES)


@pytest.mark.engine
@each
def test_results_are_near_litert_s_own(name: str) -> None:
    content = CASES[name]()
    model = nnapi.load(content, weights="dynamic-range")
    x = make_input(model)
    (theirs,) = litert(content, [x])
    assert (np.abs(compute(model, "xnnpack-cpu", x) - theirs) <= 2 * allow(name, x)).all()


@pytest.mark.engine
@pytest.mark.parametrize("is_coupled", [False, True])
def test_an_lstm_computes_with_the_codes_of_its_weights(is_coupled: bool) -> None:
    """Outputs are within 1; what a sum of products is off by goes through a few gates."""
    content = recurrent(is_coupled)
    model = nnapi.load(content, weights="dynamic-range")
    assert DYNAMIC_RANGE in model.notes
    x = make_input(model)
    exact = compute(nnapi.load(content), "nnapi-reference", x)
    np.testing.assert_allclose(compute(model, "nnapi-reference", x), exact, 1e-5, 1e-5)
    found = compute(model, "xnnpack-cpu", x)
    assert 1e-4 < np.abs(found - exact).max() < 0.02
    (theirs,) = litert(content, [x])
    assert np.abs(found - theirs).max() < 0.03


@pytest.mark.parametrize("device", ["nnapi-reference", pytest.param("openvino-cpu", marks=pytest.mark.engine)])
@each
def test_other_devices_compute_with_the_numbers(device: str, name: str) -> None:
    content = CASES[name]()
    model = nnapi.load(content, weights="dynamic-range")
    x = make_input(model)
    exact = compute(nnapi.load(content), "nnapi-reference", x)
    np.testing.assert_allclose(compute(model, device, x), exact, 1e-4, 1e-4)


@each
def test_by_default_weights_are_numbers(name: str) -> None:
    model = nnapi.load(CASES[name]())
    assert not model.dynamic_range
    assert not any("dynamic range" in note for note in model.notes)
    assert OperationCode.DEQUANTIZE not in [call.code for call in model.operations]


def test_the_model_holds_codes_once() -> None:
    weights = make_weights((64, 64), 8, 0, True)
    x, middle, y = f32(1, 64), f32(1, 64), f32(1, 64)
    graph = Graph()
    for source, target in ((x, middle), (middle, y)):
        graph.operator("FULLY_CONNECTED", [source, weights, None], [target], "FullyConnectedOptions")
    model = nnapi.load(write(graph.between([x], [y])), weights="dynamic-range")
    codes = [call.code for call in model.operations]
    assert sorted(codes) == [OperationCode.DEQUANTIZE, *[OperationCode.FULLY_CONNECTED] * 2]
    sizes = [operand.type.nbytes for operand in model.operands if operand.lifetime is Lifetime.CONSTANT]
    assert max(sizes) == 64 * 64


def test_weights_that_something_else_reads_as_numbers_are_there_too() -> None:
    """A table that is looked up, and multiplied by: its numbers are a constant wherever a constant is wanted."""
    weights = T("INT8", (6, 4), 0.02, 0, np.arange(-12, 12).reshape(6, 4))
    x, summed, padded = f32(1, 4), f32(1, 6), f32(1, 6)
    real, reduced = f32(6, 4), f32(6)
    graph = Graph().operator("FULLY_CONNECTED", [x, weights, None], [summed], "FullyConnectedOptions")
    graph.operator("DEQUANTIZE", [weights], [real])
    graph.operator("SUM", [real, const([1])], [reduced], "ReducerOptions")
    graph.operator("ADD", [summed, reduced], [padded], "AddOptions")
    content = write(graph.between([x], [padded]))
    given = np.array([[1, -2, 3, 4]], np.float32)
    models = [nnapi.load(content), nnapi.load(content, weights="dynamic-range")]
    expected, found = (compute(model, "nnapi-reference", given) for model in models)
    np.testing.assert_allclose(found, expected, 1e-6)


def test_weights_of_16_bits_are_numbers() -> None:
    weights = T("INT16", (2, 3), 0.5, 0, [[1, 2, 3], [4, 5, 6]])
    content = single("FULLY_CONNECTED", [f32(1, 3), weights, None], f32(1, 2), "FullyConnectedOptions")
    model = nnapi.load(content, weights="dynamic-range")
    assert OperationCode.DEQUANTIZE not in [call.code for call in model.operations]
    assert compute(model, "nnapi-reference", np.ones((1, 3), np.float32)).tolist() == [[3, 7.5]]


def test_what_is_no_way_to_keep_weights_is_said() -> None:
    with pytest.raises(BadDataError, match="weights is 'float', must be 'dynamic-range' or None"):
        nnapi.load(dense(8, 0), weights="float")  # type: ignore[arg-type]


def test_onnx_files_have_no_such_weights(tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="onnx is not installed")
    builder = nnapi.Builder()
    builder.output(builder.relu(builder.input(nnapi.tensor("float32", (2,)))))
    nnapi.export(builder.finish(), tmp_path / "relu.onnx")
    with pytest.raises(BadDataError, match="weights='dynamic-range' is for .tflite"):
        nnapi.load(tmp_path / "relu.onnx", weights="dynamic-range")


@pytest.mark.engine
@pytest.mark.parametrize("device", DRIVERS)
@pytest.mark.parametrize("refused", [OperationCode.DEQUANTIZE, OperationCode.FULLY_CONNECTED])
def test_parts_of_a_plan_keep_the_permission_and_are_right(refused: OperationCode, device: str) -> None:
    """Also where the codes are on one device and what multiplies by them on another."""
    whole = find_device(device)
    limited = Device(Limited(whole.driver, "limited", lambda _, call: "not here" if call.code == refused else None))
    for name in ("dense", "dense, one scale"):
        content = CASES[name]()
        model = nnapi.load(content, weights="dynamic-range")
        x = make_input(model)
        compilation = nnapi.compile(model, [limited, nnapi.device("nnapi-reference")])
        assert all(isinstance(step, Run) and step.model.dynamic_range for step in compilation.plan.steps)
        exact = compute(nnapi.load(content), "nnapi-reference", x)
        assert (np.abs(compilation.run(x)[0] - exact) <= allow(name, x)).all()


@pytest.mark.engine
def test_what_a_cache_holds_is_of_the_same_permission(tmp_path: Path) -> None:
    (tmp_path / "dense.tflite").write_bytes(CASES["dense"]())
    device, cache = find_device("xnnpack-cpu"), tmp_path / "cache"
    x = make_input(nnapi.load(tmp_path / "dense.tflite"))
    found = {
        weights: [
            nnapi.compile(nnapi.load(tmp_path / "dense.tflite", weights=weights), device, cache=cache).run(x)[0]
            for _ in range(2)
        ]
        for weights in (None, "dynamic-range", None)
    }
    for first, second in found.values():
        np.testing.assert_array_equal(first, second)
    assert (found[None][0] != found["dynamic-range"][0]).any()
