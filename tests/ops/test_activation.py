"""RELU, RELU1, RELU6, TANH, LOGISTIC, ELU, HARD_SWISH."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnapi.codes import OperandCode
from nnapi.codes import OperationCode as Op
from nnapi.model.operand import tensor
from tests.ops.tensor_cases import (
    FLOATS,
    REALS,
    assert_stores,
    floats,
    given_array,
    level,
    quickly,
    reals,
    refuses_to_add,
    refuses_to_compute,
    run,
    shapes,
    tensors,
    unknown,
)
from tests.single import scalar

RELUS = {Op.RELU, Op.RELU1, Op.RELU6}
MEANING = {
    Op.RELU: lambda x: x if x > 0 else 0,
    Op.RELU1: lambda x: sorted([-1, x, 1])[1],
    Op.RELU6: lambda x: sorted([0, x, 6])[1],
    Op.TANH: lambda x: 1 - 2 / (math.exp(2 * x) + 1),
    Op.LOGISTIC: lambda x: (1 + math.tanh(x / 2)) / 2,
    Op.HARD_SWISH: lambda x: 0 if x <= -3 else x if x >= 3 else x * (x + 3) / 6,
}
FIXED = {
    (Op.TANH, "uint8"): (1 / 128, 128),
    (Op.TANH, "int8"): (1 / 128, 0),
    (Op.LOGISTIC, "uint8"): (1 / 256, 0),
    (Op.LOGISTIC, "int8"): (1 / 256, -128),
}


@pytest.mark.parametrize(
    ("code", "x", "expected"),
    [
        (Op.RELU, [-1, 0, 7.5], [0, 0, 7.5]),
        (Op.RELU1, [-1.5, 0.25, 7.5], [-1, 0.25, 1]),
        (Op.RELU6, [-1.5, 0.25, 7.5], [0, 0.25, 6]),
        (Op.TANH, [0, 1, -100], [0, 0.76159416, -1]),
        (Op.LOGISTIC, [0, 1, -200, 200], [0.5, 0.73105858, 0, 1]),
        (Op.HARD_SWISH, [-4, -1.5, 0, 1, 4], [0, -0.375, 0, 2 / 3, 4]),
    ],
)
def test_literal(code: Any, x: Any, expected: Any) -> None:
    np.testing.assert_allclose(run(code, floats(x)), np.float32(expected), 1e-6)


def test_elu_literal() -> None:
    x = floats([-200, -1, 0, 2])
    y = run(Op.ELU, x, scalar(OperandCode.FLOAT32, 0.5))
    np.testing.assert_allclose(y, np.array([-0.5, -0.31606028, 0, 2], np.float32), 1e-6)


def out_type(code: Any, type: Any) -> Any:
    """A result's type: of fixed scale, of the input's, or one of its own."""
    if not type.is_quantized:
        return type
    if code in RELUS:
        return unknown(type)
    return tensor(type.dtype.name, (), *FIXED.get((code, type.dtype.name), (0.375, 17)))


@quickly
@given(st.sampled_from(sorted(MEANING)), tensors(REALS, shapes()))
def test_is_the_function_of_each_number(code: Any, x: tuple[Any, ...]) -> None:
    out = out_type(code, x[0])
    real = np.vectorize(MEANING[code], otypes=[float])(reals(*x))
    assert_stores(out, run(code, x, out=out), real)


@quickly
@given(tensors(FLOATS, shapes(most=5)), st.floats(-2, 2, width=16))
def test_elu_is_the_function_of_each_number(x: tuple[Any, ...], alpha: float) -> None:
    code = OperandCode.FLOAT16 if x[0].code == OperandCode.TENSOR_FLOAT16 else OperandCode.FLOAT32
    real = [max(0, v) + min(0, alpha * (math.exp(v) - 1)) for v in x[1].reshape(-1).tolist()]
    y = run(Op.ELU, x, scalar(code, alpha))
    assert_stores(x[0], y, np.reshape(real, x[1].shape))


@pytest.mark.parametrize("code", sorted(MEANING))
def test_every_code_of_eight_bits(code: Any) -> None:
    for name, first, zero_point in (("uint8", 0, 100), ("int8", -128, -28)):
        codes = np.arange(first, first + 256).astype(name).reshape(16, 16)
        type = tensor(name, (16, 16), 0.0625, zero_point)
        out = out_type(code, type)
        real = np.vectorize(MEANING[code], otypes=[float])(reals(type, codes))
        assert_stores(out, run(code, (type, codes), out=out), real)


def test_not_a_number_stays_one() -> None:
    for code in MEANING:
        assert np.isnan(run(code, floats([np.nan, 1]))).tolist() == [True, False]


@pytest.mark.parametrize(("code", "activation"), [(Op.RELU, 1), (Op.RELU6, 3)])
def test_a_zero_has_the_sign_that_an_activation_of_another_operation_gives(code: Any, activation: int) -> None:
    """RSQRT makes an infinity of that sign."""
    x = floats([-0.0, 0.0, -1.0])
    fused = run(Op.MUL, x, floats([1.0]), scalar(OperandCode.INT32, activation), out=x[0])
    assert np.signbit(run(code, x)).tolist() == np.signbit(fused).tolist() == [True, False, False]


@pytest.mark.parametrize(("code", "scale"), [(Op.TANH, "0.0078125"), (Op.LOGISTIC, "0.00390625")])
def test_the_scale_of_the_result_is_fixed(code: Any, scale: str) -> None:
    x = given_array(np.array([1, 2], np.uint8))
    refuses_to_compute(f"gives scale {scale}", code, x, outs=[tensor("uint8", (2,), 0.3, 1)])


@pytest.mark.parametrize(
    ("code", "expected"), [(Op.RELU, [4, 4, 8, 36]), (Op.RELU1, [0, 4, 8, 8]), (Op.RELU6, [4, 4, 8, 28])]
)
def test_clamped_numbers_are_stored_in_the_declared_scale(code: Any, expected: list[int]) -> None:
    x = tensor("uint8", (4,), 0.5, 3), np.array([1, 3, 5, 19], np.uint8)  # -1, 0, 1, 8
    assert run(code, x, out=tensor("uint8", (4,), 0.25, 4)).tolist() == expected


def test_refusals() -> None:
    deep = floats(np.zeros((1, 1, 1, 1, 1)))
    for code in sorted(RELUS | {Op.TANH, Op.LOGISTIC}):
        refuses_to_add("input has rank 5, must have rank 1 or 2 or 3 or 4", code, deep)
    assert run(Op.HARD_SWISH, deep).shape == (1, 1, 1, 1, 1)
    codes = given_array(np.array([1, 2], np.uint8))
    refuses_to_add("input is TENSOR_QUANT8_ASYMM, must be", Op.ELU, codes, scalar(OperandCode.FLOAT32, 1))
    half = given_array(np.array([1], np.float16))
    refuses_to_add("alpha is FLOAT32, must be FLOAT16", Op.ELU, half, scalar(OperandCode.FLOAT32, 1))


def test_levels() -> None:
    x, codes, signed = floats([1]), given_array(np.array([1], np.uint8)), given_array(np.array([1], np.int8))
    assert [level(code, x) for code in (Op.RELU, Op.TANH, Op.LOGISTIC, Op.HARD_SWISH)] == [1, 1, 1, 4]
    assert [level(code, codes) for code in (Op.RELU, Op.TANH, Op.LOGISTIC, Op.HARD_SWISH)] == [1, 3, 1, 4]
    assert [level(code, signed) for code in (Op.RELU, Op.TANH, Op.LOGISTIC)] == [4, 4, 4]
    assert level(Op.ELU, x, scalar(OperandCode.FLOAT32, 1)) == 4
