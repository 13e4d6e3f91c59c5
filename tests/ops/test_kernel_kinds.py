"""The arguments and results of each kind of kernel, on operations made for the test."""

from typing import Any

import numpy as np
import pytest

from nnapi import FuseCode, OperationCode, tensor
from nnapi.model.builder import Builder
from nnapi.model.call import Call
from nnapi.model.operand import ChannelQuantization, OperandType
from nnapi.model.operation import REGISTRY, Operation
from nnapi.model.parameter import Several, Tensor
from nnapi.ops.evaluate import specialize
from nnapi.ops.signature_types import numbers
from tests.graphs import on_reference

CODES = tensor("uint8", (2, 2), 0.5, 3)
STORED = np.array([[0, 3], [4, 255]], np.uint8)
PAIR = tensor("float32", (2,))


@pytest.fixture(autouse=True)
def _unregistered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Operations made here do not take the place of others."""
    assert all(REGISTRY.values())  # what is imported later would not be registered
    monkeypatch.setattr(REGISTRY, "add", lambda operation: None)


@pytest.fixture
def operation(_unregistered: None) -> Operation:
    """An operation without kernels."""
    slots = (Tensor("x", numbers()), Tensor("y", numbers(), optional=True))
    return Operation(OperationCode.ADD, inputs=slots, outputs=(Tensor("out", like="x"),))


def call(operation: Operation, x: OperandType, out: OperandType, y: OperandType | None = None, **options: Any) -> Call:
    operands = {"x": (0,)} | ({"y": (1,)} if y else {})
    return Call(operation, {"x": x, "y": y}, operands, (9,), (out,), **options)  # type: ignore[arg-type]


def shown(operation: Operation, kind: str, type: OperandType, stored: Any, scaled: tuple[str, ...] = ()) -> Any:
    """Return the argument that a kernel of that kind gets for a stored tensor."""
    seen: list[Any] = []

    def look(*context: Any, x: Any, y: Any) -> Any:
        seen.append(x)
        return x.copy()

    operation.kernel(kind=kind, scaled=scaled)(look)
    specialize(call(operation, type, type), {}).run(np.asarray(stored, type.dtype))
    return seen[0]


@pytest.mark.parametrize(
    ("kind", "type", "stored", "given"),
    [
        ("real", CODES, STORED, np.array([[-1.5, 0], [0.5, 126]], np.float32)),
        ("real", tensor("int8", (2,), 0.25, -1), [-128, 127], np.array([-31.75, 32], np.float32)),
        ("real", tensor("float16", (2,)), [0.5, 2], np.array([0.5, 2], np.float32)),
        ("real", PAIR, [0.5, 2], np.array([0.5, 2], np.float32)),
        ("real", tensor("int32", (2,)), [1, 1 << 30], np.array([1, 1 << 30], np.int32)),
        ("real", tensor("bool8", (3,)), [0, 1, 7], np.array([False, True, True])),
        ("raw", CODES, STORED, STORED),
        ("raw", tensor("float16", (2,)), [0.5, 2], np.array([0.5, 2], np.float16)),
        ("raw", tensor("bool8", (3,)), [0, 1, 7], np.array([0, 1, 7], np.uint8)),
        ("exact", CODES, STORED, STORED),
    ],
)
def test_what_a_kernel_is_given(operation: Operation, kind: str, type: OperandType, stored: Any, given: Any) -> None:
    seen = shown(operation, kind, type, stored)
    assert seen.dtype == given.dtype
    assert np.array_equal(seen, given)


def test_scales_by_channel_are_taken_along_their_dimension(operation: Operation) -> None:
    type = tensor("quant8_symm_per_channel", (2, 2), channel=ChannelQuantization(1, (0.5, 2.0)))
    operation.kernel(lambda x, y: x.copy())
    (result,) = specialize(call(operation, type, tensor("float32", (2, 2))), {}).run(
        np.array([[1, 1], [2, -3]], np.int8)
    )
    assert result.tolist() == [[0.5, 2], [1, -6]]


def test_a_linear_kernel_is_given_codes_less_zero_point_and_gives_sums_of_products(operation: Operation) -> None:
    y = tensor("uint8", (2, 2), 0.25, 1)
    seen = []

    @operation.kernel(scaled=("x", "y"))
    def product(x: Any, y: Any) -> Any:
        seen.append((x, y))
        return x @ y

    step = specialize(call(operation, CODES, tensor("int8", (2, 2), 1.0, -5), y), {})
    (result,) = step.run(STORED, np.array([[1, 2], [3, 4]], np.uint8))
    assert [array.tolist() for array in seen[0]] == [[[-3, 0], [1, 252]], [[0, 1], [2, 3]]]
    exact = (STORED.astype(int) - 3) @ np.array([[0, 1], [2, 3]]) * 0.5 * 0.25 - 5
    assert np.array_equal(result, np.clip(np.sign(exact) * np.floor(np.abs(exact) + 0.5), -128, 127))


def test_a_linear_kernel_is_real_where_nothing_is_quantized(operation: Operation) -> None:
    operation.kernel(scaled=("x", "y"))(lambda x, y: x * y)
    (result,) = specialize(call(operation, PAIR, PAIR, PAIR), {}).run(
        np.array([2, 3], np.float32), np.array([0.5, 0.5], np.float32)
    )
    assert result.tolist() == [1, 1.5]


def test_an_exact_kernel_is_given_the_call(operation: Operation) -> None:
    @operation.kernel(kind="exact")
    def shifted(call: Call, x: Any, y: Any) -> Any:
        return x + np.uint8(call.results[0].zero_point)

    (result,) = specialize(call(operation, CODES, CODES), {}).run(STORED)
    assert result.tolist() == [[3, 6], [7, 2]]


@pytest.mark.parametrize(
    ("kind", "type", "activation", "expected"),
    [
        ("raw", CODES, FuseCode.FUSED_RELU, [[3, 3], [4, 255]]),
        ("raw", CODES, FuseCode.FUSED_RELU6, [[3, 3], [4, 15]]),
        ("raw", CODES, FuseCode.FUSED_RELU1, [[1, 3], [4, 5]]),
        ("real", CODES, FuseCode.FUSED_RELU1, [[1, 3], [4, 5]]),
        ("real", CODES, FuseCode.FUSED_NONE, [[0, 3], [4, 255]]),
    ],
)
def test_fused_activations_bound_the_codes(
    operation: Operation, kind: str, type: OperandType, activation: FuseCode, expected: Any
) -> None:
    operation.kernel(kind=kind)(lambda x, y: x.copy())
    (result,) = specialize(call(operation, type, type, activation=activation), {}).run(STORED)
    assert result.tolist() == expected
    assert result.dtype == np.uint8


@pytest.mark.parametrize(("out", "dtype"), [("float32", np.float32), ("float16", np.float16), ("bool8", np.uint8)])
def test_results_are_stored_as_their_type(operation: Operation, out: str, dtype: Any) -> None:
    operation.kernel(lambda x, y: x > 1 if out == "bool8" else x * 2)
    (result,) = specialize(call(operation, PAIR, tensor(out, (2,))), {}).run(np.array([0.5, 2], np.float32))
    assert result.dtype == dtype
    assert result.tolist() == ([0, 1] if out == "bool8" else [1, 4])


def test_the_activation_is_of_the_first_of_several_results() -> None:
    outputs = (Tensor("a", like="x"), Tensor("b", like="x"))
    operation = Operation(OperationCode.ADD, inputs=(Tensor("x", numbers()),), outputs=outputs)
    operation.kernel(lambda x: (-x, -x - 1, "what is not listed"))
    both = Call(operation, {"x": PAIR}, {"x": (0,)}, (1, 2), (PAIR, PAIR), FuseCode.FUSED_RELU)
    assert [result.tolist() for result in specialize(both, {}).run(np.array([1, -2], np.float32))] == [[0, 2], [-2, 1]]


def test_lists_may_hold_constants_and_inputs_in_any_order() -> None:
    several = Several(Tensor("x", numbers()))
    operation = Operation(OperationCode.ADD, inputs=(several,), outputs=(Tensor("out", like="x"),))
    operation.kernel(lambda x: x[0] - x[1] - x[2])
    listed = Call(operation, {"x": [PAIR] * 3}, {"x": (5, 6, 5)}, (9,), (PAIR,))
    step = specialize(listed, {6: np.array([10, 20], np.float32)})
    assert step.inputs == (5, 5)
    assert step.run(np.array([1, 2], np.float32), np.array([1, 2], np.float32))[0].tolist() == [-10, -20]


def test_a_kernel_for_some_types_goes_before_the_one_for_all(operation: Operation) -> None:
    operation.kernel(lambda x, y: x * 2)
    operation.kernel(types=(PAIR.code,))(lambda x, y: x * 3)
    assert specialize(call(operation, PAIR, PAIR), {}).run(np.array([1, 2], np.float32))[0].tolist() == [3, 6]
    assert specialize(call(operation, CODES, CODES), {}).run(STORED)[0].tolist() == [[0, 3], [5, 255]]


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("name", ["fully_connected", "batch_matmul", "conv_2d"])
def test_long_sums_of_products_are_exact(name: str, constant: bool) -> None:
    """20000 large products, as many of the other sign, and seven: a float32 sum would lose the seven."""
    dtype, zero_point = ("int8", 0) if name == "batch_matmul" else ("uint8", 128)
    x = np.full(40_007, np.iinfo(dtype).max, dtype)
    w = np.repeat(np.array([zero_point + 127, zero_point - 127, zero_point + 1], dtype), [20_000, 20_000, 7])
    x[40_000:] = 1
    b = Builder()
    shape = (1, 1, 1, 40_007) if name == "conv_2d" else (1, 40_007)
    given = b.input(tensor(dtype, shape, 1.0, 0))
    type = tensor(dtype, shape, 1.0, zero_point)
    weights = b.constant(w.reshape(shape), type) if constant else b.input(type)
    bias = b.constant([0], tensor("int32", (1,), 1.0))
    rest = {"fully_connected": (bias,), "batch_matmul": (False, True), "conv_2d": (bias, "valid", 1, 1)}[name]
    b.output(getattr(b, name)(given, weights, *rest, scale=1.0, zero_point=100))
    arrays = [x.reshape(shape)] if constant else [x.reshape(shape), w.reshape(shape)]
    assert on_reference(b.finish()).run(*arrays)[0].reshape(-1).tolist() == [107]
