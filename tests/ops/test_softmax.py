"""SOFTMAX, LOG_SOFTMAX."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnapi.codes import OperandCode, OperationCode
from nnapi.model.operand import tensor
from tests.ops.tensor_cases import (
    REALS,
    assert_stores,
    floats,
    given_array,
    int32,
    level,
    quickly,
    reals,
    refuses_to_add,
    refuses_to_compute,
    run,
    shapes,
    tensors,
)
from tests.single import scalar

SOFTMAX, LOG_SOFTMAX = OperationCode.SOFTMAX, OperationCode.LOG_SOFTMAX
UNIT = {"uint8": tensor("uint8", (), 1 / 256, 0), "int8": tensor("int8", (), 1 / 256, -128)}
ONE = scalar(OperandCode.FLOAT32, 1)
ROW = floats([[0, math.log(2), math.log(5)]])


def test_literal() -> None:
    np.testing.assert_allclose(run(SOFTMAX, ROW, ONE), np.array([[0.125, 0.25, 0.625]], np.float32), 1e-6)
    twice = scalar(OperandCode.FLOAT32, 2)
    np.testing.assert_allclose(run(SOFTMAX, ROW, twice), np.array([[1 / 30, 4 / 30, 25 / 30]], np.float32), 1e-6)


def test_log_literal() -> None:
    expected = [[-math.log(8), math.log(2) - math.log(8), math.log(5) - math.log(8)]]
    np.testing.assert_allclose(run(LOG_SOFTMAX, ROW, ONE, int32(-1)), np.float32(expected), 1e-6)  # type: ignore[arg-type]


def test_literal_quantized() -> None:
    codes = tensor("uint8", (1, 2), 0.5, 10), np.array([[10, 12]], np.uint8)  # 0, 1
    assert run(SOFTMAX, codes, ONE, out=UNIT["uint8"]).tolist() == [[69, 187]]  # 256 / (1 + e) and the rest
    sure = tensor("int8", (1, 2), 1.0, 0), np.array([[-100, 100]], np.int8)
    assert run(SOFTMAX, sure, ONE, out=UNIT["int8"]).tolist() == [[-128, 127]]


def test_large_numbers_do_not_overflow() -> None:
    large = floats([[1e4, 1e4 - 1, -3e38]])
    p = 1 / (1 + math.exp(-1))
    np.testing.assert_allclose(run(SOFTMAX, large, ONE), np.array([[p, 1 - p, 0]], np.float32), 1e-6)
    assert run(LOG_SOFTMAX, large, ONE, int32(1))[0, 0] == pytest.approx(math.log(p))


@quickly
@given(
    st.data(),
    tensors(REALS, shapes()),
    st.sampled_from([0.25, 0.5, 1, 2]),
    st.booleans(),
)
def test_every_slice_is_a_share_of_exponentials(data: Any, x: tuple[Any, ...], beta: float, log: bool) -> None:
    type, values = x
    if log and type.is_quantized:
        return
    axis = data.draw(st.integers(-values.ndim, values.ndim - 1))
    rows = np.moveaxis(reals(*x).astype(float), axis, -1)
    real = np.empty(rows.shape)
    for at in np.ndindex(*rows.shape[:-1]):
        total = math.fsum(math.exp(v * beta) for v in rows[at])
        shares = [math.exp(v * beta) / total for v in rows[at]]
        real[at] = [v * beta - math.log(total) for v in rows[at]] if log else shares
    number = OperandCode.FLOAT16 if type.code == OperandCode.TENSOR_FLOAT16 else OperandCode.FLOAT32
    out = UNIT.get(type.dtype.name, type.with_dimensions(()))
    y = run(LOG_SOFTMAX if log else SOFTMAX, x, scalar(number, beta), int32(axis), out=out)
    assert_stores(out, y, np.moveaxis(real, -1, axis))


def test_refusals() -> None:
    refuses_to_compute("axis is 2, must be in [-2, 2)", SOFTMAX, ROW, ONE, int32(2))
    refuses_to_compute("axis is -3, must be in [-2, 2)", LOG_SOFTMAX, ROW, ONE, int32(-3))
    refuses_to_compute("beta is 0.0, must be above 0", SOFTMAX, ROW, scalar(OperandCode.FLOAT32, 0))
    refuses_to_add("input has rank 5", SOFTMAX, floats(np.zeros((1, 1, 1, 1, 1))), ONE)
    half = given_array(np.array([[1]], np.float16))
    refuses_to_add("beta is FLOAT32, must be FLOAT16", SOFTMAX, half, ONE)
    refuses_to_add("takes 3 inputs, got 2", LOG_SOFTMAX, ROW, ONE)
    codes = given_array(np.array([[1, 2]], np.uint8))
    refuses_to_compute("gives scale 0.00390625 and zero point 0", SOFTMAX, codes, ONE, outs=[codes[0]])


def test_levels() -> None:
    line = floats([1, 2])
    assert [level(SOFTMAX, ROW, ONE), level(SOFTMAX, line, ONE), level(SOFTMAX, ROW, ONE, int32(0))] == [1, 3, 3]
    assert level(LOG_SOFTMAX, ROW, ONE, int32(0)) == 3
