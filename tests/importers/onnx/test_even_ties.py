"""QuantizeLinear of ONNX files rounds halves to even, NNAPI's QUANTIZE away from zero: imported, computed, exported."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.rows import each_row

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx.reference import ReferenceEvaluator  # noqa: E402

import nnapi  # noqa: E402
from nnapi.codes import OperationCode as O  # noqa: E402
from nnapi.operation_codes import CompositeCode  # noqa: E402
from tests.engines import DEVICES, find_device  # noqa: E402
from tests.importers.onnx.literal_cases import file_of, node  # noqa: E402

HALVES = np.arange(-300, 300, dtype=np.float32) / 2
Q, DQ = "QuantizeLinear", "DequantizeLinear"
TO_EVEN = CompositeCode.QUANTIZE_TO_EVEN


def quantizing(x: Any, scale: float, zero_point: Any, opset: int = 21) -> nnapi.Model:
    constants = {"s": x.dtype.type(scale), "z": zero_point}
    return nnapi.load(file_of([node(Q, "x s z")], {"x": x}, constants, opset=opset))


def even(x: Any, scale: float, zero_point: Any) -> Any:
    limits = np.iinfo(zero_point.dtype)
    rounded = np.rint(x.astype(np.float32) / np.float32(scale)) + zero_point.astype(np.float32)
    return np.clip(rounded, limits.min, limits.max).astype(zero_point.dtype)


def away(x: Any, scale: float, zero_point: Any) -> Any:
    quotients = (x / np.float32(scale)).astype(np.float64)
    limits = np.iinfo(zero_point.dtype)
    rounded = np.trunc(quotients + np.copysign(0.5, quotients)) + float(zero_point)
    return np.clip(rounded, limits.min, limits.max).astype(zero_point.dtype)


@each_row("device", DEVICES)
@each_row(
    ("scale", "zero_point", "dtype"),
    [
        (1, np.int8(0), np.float32),
        (0.125, np.int8(5), np.float32),
        (0.1, np.uint8(128), np.float32),
        (1 / 255, np.uint8(0), np.float32),
        (0.5, np.uint8(3), np.float16),
    ],
)
def test_halves_of_a_file_are_rounded_to_even(device: str, scale: float, zero_point: Any, dtype: Any) -> None:
    x = (HALVES * np.float32(dtype(scale))).astype(dtype)
    x[:6] = np.inf, -np.inf, 3e4, -3e4, 1e-7, -1e-7
    expected = even(x, float(dtype(scale)), zero_point)
    assert (expected != away(x.astype(np.float32), float(dtype(scale)), zero_point)).sum() > 50
    found = nnapi.compile(quantizing(x, scale, zero_point), find_device(device), cache=False).run(x)[0]
    np.testing.assert_array_equal(found, expected)


def test_an_operation_between_quantized_tensors_rounds_its_result_to_even() -> None:
    """As it is computed on floats here: NNAPI divides no quantized values."""
    x = np.array([1, 3, 5, 7], np.uint8)
    constants = {"s": np.float32(1), "z": np.uint8(0), "two": np.float32(2)}
    nodes = [node(DQ, "x s z", "r"), node("Div", "r two", "h"), node(Q, "h s z")]
    model = nnapi.load(file_of(nodes, {"x": x}, constants))
    assert nnapi.compile(model, "nnapi-reference").run(x)[0].tolist() == [0, 2, 2, 4]


@pytest.mark.parametrize(("scale", "count"), [(0.5, 0), (0.25, 0), (1.0, 1), (2.0, 1), (0.3, 0)])
def test_values_that_are_never_halves_are_only_quantized(scale: float, count: int) -> None:
    """There are 256 of them: multiples of 0.5."""
    constants = {"s": np.float32(0.5), "z": np.uint8(3), "t": np.float32(scale), "u": np.uint8(9)}
    nodes = [node(DQ, "x s z", "r"), node(Q, "r t u")]
    model = nnapi.load(file_of(nodes, {"x": np.zeros(4, np.uint8)}, constants))
    assert [call.code for call in model.operations].count(TO_EVEN) == count


def test_scales_that_engines_take_for_0_are_not_divided_by() -> None:
    codes = [call.code for call in quantizing(HALVES, 1e-39, np.uint8(0)).operations]
    assert codes == [O.QUANTIZE]


def test_the_rounding_is_not_folded_into_a_product_before_it() -> None:
    """The number that is added would take the bits of the bias."""
    weights, bias = np.eye(2, dtype=np.float32), np.array([0.5, 1.5], np.float32)
    constants = {"w": weights, "b": bias, "s": np.float32(1), "z": np.int8(0)}
    nodes = [node("Gemm", "x w b", "r"), node(Q, "r s z")]
    x = np.array([[0, 0], [1, 1], [2, 3]], np.float32)
    model = nnapi.load(file_of(nodes, {"x": x}, constants))
    assert [call.code for call in model.operations] == [O.FULLY_CONNECTED, TO_EVEN]
    assert nnapi.compile(model, "nnapi-reference").run(x)[0].tolist() == [[0, 2], [2, 2], [2, 4]]


def test_a_file_s_own_rounding_by_a_large_number_is_not_folded() -> None:
    constants = {"w": np.eye(2, dtype=np.float32), "b": np.array([0.25, 0.5], np.float32), "m": np.float32(1.5 * 2**23)}
    nodes = [node("Gemm", "x w b", "r"), node("Add", "r m", "a"), node("Sub", "a m")]
    x = np.array([[0, 0], [1.5, 1]], np.float32)
    model = nnapi.load(file_of(nodes, {"x": x}, constants))
    assert nnapi.compile(model, "nnapi-reference").run(x)[0].tolist() == [[0, 0], [2, 2]]


# Engines


@pytest.mark.engine
def test_engines_that_round_so_leave_the_rounding_out() -> None:
    pytest.importorskip("ai_edge_litert", reason="ai-edge-litert is not installed")
    from nnapi.drivers.xnnpack.lowering import lower_model

    graph = lower_model(quantizing(HALVES, 0.5, np.int8(1))).graph
    assert [operator.kind for operator in graph.operators] == ["QUANTIZE"]


# Export


def written(model: nnapi.Model, path: Path) -> tuple[Any, list[str]]:
    nnapi.export(model, path)
    file: Any = onnx.load(path)
    return ReferenceEvaluator(file), [each.op_type for each in file.graph.node]


@pytest.mark.parametrize("scale", [0.5, 0.1])
def test_an_exported_quantize_rounds_halves_away_from_zero(scale: float, tmp_path: Path) -> None:
    x = HALVES * np.float32(scale)
    net = nnapi.Builder()
    net.output(net.quantize(net.input(nnapi.tensor("float32", x.shape)), out=nnapi.tensor("int8", x.shape, scale, 5)))
    model = net.finish()
    expected = nnapi.compile(model, "nnapi-reference").run(x)[0]
    np.testing.assert_array_equal(expected, away(x, scale, np.int8(5)))
    evaluator, kinds = written(model, tmp_path / "model.onnx")
    assert kinds == ["Mul", Q]
    np.testing.assert_array_equal(evaluator.run(None, {evaluator.input_names[0]: x})[0], expected)
    again = nnapi.load(tmp_path / "model.onnx")
    np.testing.assert_array_equal(nnapi.compile(again, "nnapi-reference").run(x)[0], expected)


def test_a_file_s_quantize_linear_is_exported_as_it_was(tmp_path: Path) -> None:
    x, scale, zero_point = HALVES * np.float32(0.1), 0.1, np.uint8(7)
    evaluator, kinds = written(quantizing(x, scale, zero_point), tmp_path / "model.onnx")
    assert kinds == [Q]
    np.testing.assert_array_equal(evaluator.run(None, {"x": x})[0], even(x, scale, zero_point))
    nnapi.export(quantizing(x, scale, zero_point), tmp_path / "model.tflite")
    again = nnapi.load(tmp_path / "model.tflite")
    found = nnapi.compile(again, "nnapi-reference").run(x)[0]
    np.testing.assert_array_equal(found, even(x, scale, zero_point))
