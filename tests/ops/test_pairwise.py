"""LOGICAL_AND, LOGICAL_OR, MAXIMUM, MINIMUM, POW."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnapi.codes import OperationCode as Op
from nnapi.errors import BadDataError
from nnapi.model.operand import tensor
from tests.ops.pair_cases import assert_pairs, pairs
from tests.ops.tensor_cases import (
    BOOL8,
    FLOATS,
    NUMBERS,
    assert_same,
    assert_stores,
    floats,
    ints,
    level,
    quickly,
    reals,
    refuses_to_add,
    refuses_to_compute,
    run,
)


def test_literal() -> None:
    a, b = floats([[1, 5], [-2, 0]]), floats([3, -4])
    assert run(Op.MAXIMUM, a, b).tolist() == [[3, 5], [3, 0]]
    assert run(Op.MINIMUM, a, b).tolist() == [[1, -4], [-2, -4]]
    np.testing.assert_allclose(run(Op.POW, floats([2, 4, -3]), floats([3, 0.5, 2])), [8, 2, 9], rtol=1e-6)


def test_literal_truth() -> None:
    x, y = ((tensor("bool8", (4,)), np.uint8(value)) for value in ([0, 0, 1, 2], [0, 1, 0, 255]))  # type: ignore[arg-type]
    assert_same(run(Op.LOGICAL_AND, x, y), np.array([0, 0, 0, 1], np.uint8))
    assert_same(run(Op.LOGICAL_OR, x, y), np.array([0, 1, 1, 1], np.uint8))


def test_literal_codes_of_different_scales() -> None:
    a = tensor("uint8", (3,), 0.5, 100), np.array([100, 103, 90], np.uint8)  # 0, 1.5, -5
    b = tensor("uint8", (3,), 1.0, 20), np.array([21, 20, 10], np.uint8)  # 1, 0, -10
    out = tensor("uint8", (3,), 0.25, 8)
    assert run(Op.MAXIMUM, a, b, out=out).tolist() == [12, 14, 0]
    assert run(Op.MINIMUM, a, b, out=out).tolist() == [8, 8, 0]


MEANING = {
    Op.LOGICAL_AND: lambda x, y: int(bool(x) and bool(y)),
    Op.LOGICAL_OR: lambda x, y: int(bool(x) or bool(y)),
    Op.MAXIMUM: lambda x, y: x if x > y else y,
    Op.MINIMUM: lambda x, y: x if x < y else y,
}


@quickly
@given(st.sampled_from(sorted(MEANING)), st.data())
def test_each_pair_by_itself(code: Any, data: Any) -> None:
    kinds = BOOL8 if code in (Op.LOGICAL_AND, Op.LOGICAL_OR) else NUMBERS
    x, y = data.draw(pairs(kinds))
    out = tensor(x[0].code, (), 0.4, 7) if x[0].is_quantized else x[0].with_dimensions(())
    assert_pairs(lambda real: assert_stores(out, run(code, x, y, out=out), real), MEANING[code], x, y)


@quickly
@given(pairs(FLOATS))
def test_power(pair: list[Any]) -> None:
    (type, base), y = pair
    base = np.abs(base) + base.dtype.type(0.25)
    y = (y[0], np.clip(y[1], -2, 2))
    assert_pairs(lambda real: assert_stores(type, run(Op.POW, (type, base), y), real), math.pow, (type, base), y)


def test_equal_quantization_keeps_every_code() -> None:
    type = tensor("uint8", (256,), 0.1, 37)
    x = type, np.arange(256, dtype=np.uint8)
    assert_same(run(Op.MAXIMUM, x, x, out=type), x[1])
    assert reals(type, x[1])[37] == 0


@pytest.mark.parametrize("code", [Op.MAXIMUM, Op.MINIMUM, Op.POW])
def test_refusals(code: Any) -> None:
    first, second = {Op.POW: ("base", "exponent")}.get(code, ("a", "b"))
    message = f"{first} of shape [2] and {second} of shape [3] do not broadcast"
    refuses_to_compute(message, code, floats([1, 2]), floats([1, 2, 3]))
    refuses_to_add(f"{second} is TENSOR_INT32, must be TENSOR_FLOAT32", code, floats([1]), ints(1))
    omitted = (tensor("float32", (1,)), None)
    refuses_to_compute(f"{second} is omitted, but needed", code, floats([1]), omitted, error=BadDataError)


def test_levels() -> None:
    assert [level(code, floats([1]), floats([1])) for code in (Op.MAXIMUM, Op.MINIMUM, Op.POW)] == [3, 3, 3]
