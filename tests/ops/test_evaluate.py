"""The framework around the kernels: what is resolved once, and what a run does."""

from typing import Any

import numpy as np
import pytest

from nnapi.codes import OperandCode
from nnapi.codes import OperationCode as Op
from nnapi.model.call import normalize
from nnapi.model.operand import tensor
from nnapi.model.operation import REGISTRY, Kernel
from nnapi.ops.evaluate import evaluate, specialize
from tests.ops.image_cases import NONE, RELU6, SAME, VALID, floats, numbers, operands, tail, to_nchw
from tests.ops.tensor_cases import FLOATS, int32, unknown
from tests.single import scalar, single


def prepared(code: Any, *inputs: Any, out: Any = None, constant: bool = False) -> Any:
    """The normal call of an operation, and its constants."""
    model = single(code, inputs, [out or unknown(inputs[0][0])], constant=constant)
    (operation,) = model.operations
    types, values = ({o.index: get(o) for o in model.operands} for get in (lambda o: o.type, lambda o: o.value))
    declared = tuple(types[i] for i in operation.outputs)
    call = normalize(
        REGISTRY[code], operation.match, operation.inputs, operation.outputs, declared, types.get, values.get
    )
    return call, {i: value for i, value in values.items() if value is not None}


def watch(monkeypatch: Any, code: Any) -> list[Any]:
    """A list that grows by the arguments of each call of an operation's kernels."""
    seen = []

    def watched(kernel: Any) -> Any:
        def function(*positional: Any, **named: Any) -> Any:
            seen.append(named)
            return kernel.function(*positional, **named)

        return Kernel(function, kernel.kind, kernel.scaled, kernel.types)

    monkeypatch.setattr(REGISTRY[code], "kernels", [watched(kernel) for kernel in REGISTRY[code].kernels])
    return seen


def filtered(kind: str, random: Any, shape: Any = (1, 3, 3, 2)) -> tuple[Any, ...]:
    x, out = operands(kind, shape, (2, 2, 2, 2), 0, random)
    return [*x, *numbers(VALID, 1, 1, NONE)], out


def test_a_step_takes_what_is_not_constant() -> None:
    x, out = filtered("quant8", np.random.default_rng(0))
    free = specialize(*prepared(Op.CONV_2D, *x, out=unknown(out)))
    held = specialize(*prepared(Op.CONV_2D, *x, out=unknown(out), constant=True))
    assert [len(free.inputs), len(held.inputs)] == [3, 1]
    assert np.array_equal(free.run(*[value for _, value in x[:3]]), held.run(x[0][1]))


def test_constants_are_converted_once_and_cannot_be_overwritten(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = watch(monkeypatch, Op.CONV_2D)
    x, out = filtered("quant8", np.random.default_rng(0))
    step = specialize(*prepared(Op.CONV_2D, *x, out=unknown(out), constant=True))
    for _ in range(2):
        step.run(x[0][1])
    assert seen[0]["filter"] is seen[1]["filter"]
    assert not seen[0]["filter"].flags.writeable
    assert seen[0]["filter"].tolist() == (x[1][1].astype(int) - x[1][0].zero_point).tolist()


@pytest.mark.parametrize(
    ("code", "bias", "expected"), [(200, 0, np.float32), (255, 0, np.float64), (200, -2_000_000, np.float64)]
)
def test_sums_are_of_the_precision_that_keeps_them_exact(
    monkeypatch: pytest.MonkeyPatch, code: Any, bias: Any, expected: Any
) -> None:
    seen = watch(monkeypatch, Op.FULLY_CONNECTED)
    row = tensor("uint8", (1, 300), 1.0, 0), np.zeros((1, 300), np.uint8)
    weights = tensor("uint8", (1, 300), 1.0, 0), np.full((1, 300), code, np.uint8)
    bias = tensor("int32", (1,), 1.0), np.array([bias], np.int32)  # 255 · 300 · 220 is about 2²⁴
    step = specialize(*prepared(Op.FULLY_CONNECTED, row, weights, bias, int32(NONE), constant=True))
    step.run(row[1])
    assert {seen[0][name].dtype for name in ("input", "weights", "bias")} == {np.dtype(expected)}


@pytest.mark.parametrize(("inner", "expected"), [(258, np.float32), (259, np.float64)])
def test_so_are_sums_along_what_no_filter_has(monkeypatch: pytest.MonkeyPatch, inner: int, expected: Any) -> None:
    """Quantized values as far as 255 from the zero point: 255² · 258 is less than 2²⁴ by 766."""
    seen = watch(monkeypatch, Op.BATCH_MATMUL)
    x = tensor("int8", (1, inner), 1.0, -128), np.full((1, inner), 127, np.int8)
    y = tensor("int8", (inner, 1), 1.0, -128), np.full((inner, 1), 127, np.int8)
    no = scalar(OperandCode.BOOL, False)
    step = specialize(*prepared(Op.BATCH_MATMUL, x, y, no, no))
    step.run(x[1], y[1])
    assert {value.dtype for value in seen[0].values() if isinstance(value, np.ndarray)} == {np.dtype(expected)}


def test_kernels_see_images_as_nhwc(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = watch(monkeypatch, Op.MAX_POOL_2D)
    x = floats(np.arange(12).reshape(1, 2, 3, 2))
    plain = numbers(SAME, 1, 1, 1, 1)
    step = specialize(*prepared(Op.MAX_POOL_2D, to_nchw(x), *plain, *tail(nchw=True)))
    (y,) = step.run(to_nchw(x)[1])
    assert np.array_equal(seen[0]["input"], x[1])
    assert np.array_equal(y, x[1].transpose(0, 3, 1, 2))


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_functions_of_eight_bits_are_looked_up(monkeypatch: pytest.MonkeyPatch, dtype: str) -> None:
    seen = watch(monkeypatch, Op.HARD_SWISH)
    type = tensor(dtype, (2, 3), 0.05, 7)
    step = specialize(*prepared(Op.HARD_SWISH, (type, np.zeros((2, 3), dtype)), out=tensor(dtype, (), 0.1, 3)))
    assert [call["input"].shape for call in seen] == [(256,)]
    codes = np.array([[0, 1, 127], [100, 101, 5]], dtype)
    (y,) = step.run(codes.T)
    x = (codes.T - 7.0) * 0.05
    assert len(seen) == 1
    assert y.dtype == codes.dtype
    assert np.abs(y - (x * np.clip(x + 3, 0, 6) / 6 / 0.1 + 3)).max() <= 0.5 + 1e-4


def test_float16_is_computed_in_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = watch(monkeypatch, Op.TANH)
    x = FLOATS["float16"].with_dimensions((2,)), np.array([0.5, 1], np.float16)
    (y,) = specialize(*prepared(Op.TANH, x)).run(x[1])
    assert seen[0]["input"].dtype == np.float32
    assert y.dtype == np.float16


def test_activations_do_not_touch_the_input() -> None:
    x = floats(np.array([-1, 9], np.float32).reshape(1, 1, 2, 1))
    (y,) = specialize(*prepared(Op.MAX_POOL_2D, x, *numbers(SAME, 1, 1, 1, 1, RELU6))).run(x[1])
    assert y.reshape(-1).tolist() == [0, 6]
    assert x[1].reshape(-1).tolist() == [-1, 9]


def test_lists_are_put_together_from_constants_and_inputs() -> None:
    x, y = floats([[1, 2]]), floats([[3, 4]])
    step = specialize(*prepared(Op.CONCATENATION, x, y, int32(0), constant=True))
    assert [array.tolist() for array in step.run(x[1])] == [[[1, 2], [3, 4]]]
    assert [array.tolist() for array in step.run(-x[1])] == [[[-1, -2], [3, 4]]]


def test_evaluate_computes_known_arrays() -> None:
    x = floats([1, 2])
    call, constants = prepared(Op.ADD, x, floats([3]), int32(NONE))
    lhs, rhs = (call.operands[name][0] for name in ("lhs", "rhs"))
    (y,) = evaluate(call, constants | {lhs: x[1], rhs: np.array([3], np.float32)})
    assert y.tolist() == [4, 5]
