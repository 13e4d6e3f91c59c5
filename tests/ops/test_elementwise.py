"""ABS, EXP, FLOOR, LOG, NEG, RSQRT, SIN, SQRT."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnapi.codes import OperationCode as Op
from nnapi.model.operand import tensor
from tests.ops.tensor_cases import (
    FLOATS,
    INT32,
    QUANTIZED,
    assert_stores,
    floats,
    ints,
    level,
    quickly,
    reals,
    refuses_to_add,
    run,
    shapes,
    tensors,
)

INTEGERS = {Op.ABS, Op.NEG}
POSITIVE = {Op.LOG, Op.RSQRT, Op.SQRT}
MEANING = {
    Op.ABS: lambda x: x if x >= 0 else -x,
    Op.EXP: math.exp,
    Op.FLOOR: math.floor,
    Op.LOG: math.log,
    Op.NEG: lambda x: -x,
    Op.RSQRT: lambda x: x**-0.5,
    Op.SIN: math.sin,
    Op.SQRT: math.sqrt,
}


@pytest.mark.parametrize(
    ("code", "x", "out"),
    [
        (Op.ABS, [-1.5, 0, 2], [1.5, 0, 2]),
        (Op.EXP, [0, 1, -1], [1, 2.7182818, 0.36787944]),
        (Op.FLOOR, [-1.5, -0.5, 0.5, 2], [-2, -1, 0, 2]),
        (Op.LOG, [1, 2.7182818, 10], [0, 1, 2.3025851]),
        (Op.NEG, [-1.5, 0, 2], [1.5, 0, -2]),
        (Op.RSQRT, [1, 4, 0.25], [1, 0.5, 2]),
        (Op.SIN, [0, math.pi / 2, -math.pi / 6], [0, 1, -0.5]),
        (Op.SQRT, [0, 4, 2], [0, 2, 1.41421356]),
    ],
)
def test_literal(code: Any, x: list[float], out: list[float]) -> None:
    np.testing.assert_allclose(run(code, floats(x)), out, rtol=1e-6, atol=1e-6)


@quickly
@given(st.sampled_from(sorted(MEANING)), st.data())
def test_each_number_by_itself(code: Any, data: Any) -> None:
    kinds = FLOATS | (INT32 if code in INTEGERS else {})
    type, x = data.draw(tensors(kinds, shapes(most=4 if code == Op.FLOOR else 5, dimension=3)))
    if code in POSITIVE:
        x = np.abs(x) + x.dtype.type(0.5)
    expected = np.array([MEANING[code](number) for number in x.ravel().tolist()]).reshape(x.shape)  # type: ignore[operator]
    assert_stores(type, run(code, (type, x)), expected)


def test_rsqrt_of_codes() -> None:
    x = (tensor("uint8", (6,), 0.25, 4), np.array([5, 8, 20, 68, 4, 0], np.uint8))  # 0.25, 1, 4, 16, 0, -1
    assert run(Op.RSQRT, x, out=tensor("uint8", (6,), 0.25, 0)).tolist() == [8, 4, 2, 1, 255, 255]
    signed = (tensor("int8", (2,), 1.0, 0), np.array([4, -3], np.int8))
    assert run(Op.RSQRT, signed, out=tensor("int8", (2,), 0.01, 75)).tolist() == [125, 127]


@quickly
@given(tensors(QUANTIZED, shapes()), st.floats(0.01, 1), st.integers(0, 100))
def test_rsqrt_of_codes_is_that_of_the_reals(x: tuple[Any, ...], scale: float, zero_point: int) -> None:
    type, codes = x
    out = tensor(type.code, codes.shape, scale, zero_point)
    real = [1 / math.sqrt(number) if number > 0 else 1e9 for number in reals(type, codes).ravel()]
    assert_stores(out, run(Op.RSQRT, x, out=out), np.reshape(real, codes.shape))


def test_logarithm_of_a_negative_number_is_no_number() -> None:
    assert np.isnan(run(Op.LOG, floats([-1.0]))).all()


def test_refusals() -> None:
    refuses_to_add("input has rank 5, must have rank 1 or 2 or 3 or 4", Op.FLOOR, floats(np.zeros((1,) * 5)))
    refuses_to_add("input is TENSOR_INT32, must be TENSOR_FLOAT32 or TENSOR_FLOAT16", Op.SIN, ints(1))
    refuses_to_add("takes 1 input, got 2", Op.SIN, floats([1]), floats([1]))


def test_levels() -> None:
    assert [level(code, floats([1])) for code in MEANING] == [1 if code == Op.FLOOR else 3 for code in MEANING]
    assert [level(Op.NEG, ints(1)), level(Op.ABS, ints(1))] == [3, 4]
    assert level(Op.RSQRT, (tensor("uint8", (1,), 1.0), np.array([1], np.uint8))) == 7
