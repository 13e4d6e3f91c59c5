"""ADD, SUB, MUL, DIV."""

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nnapi.codes import OperationCode as Op
from nnapi.model.operand import tensor
from tests.ops.image_cases import NONE, RELU, RELU1, RELU6, activations, clamped
from tests.ops.pair_cases import assert_pairs, pairs
from tests.ops.tensor_cases import (
    FLOATS,
    INT32,
    NUMBERS,
    assert_stores,
    floats,
    given_array,
    int32,
    ints,
    level,
    quickly,
    refuses_to_add,
    refuses_to_compute,
    run,
    unknown,
)

PLAIN = int32(NONE)
MEANING = {Op.ADD: lambda x, y: x + y, Op.SUB: lambda x, y: x - y, Op.MUL: lambda x, y: x * y}


def wrapped(value: int) -> int:
    """Two's complement of 32 bits."""
    return (value + 2**31) % 2**32 - 2**31


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (Op.ADD, [[3, -1], [6, 2]]),
        (Op.SUB, [[-1, 5], [2, 8]]),
        (Op.MUL, [[2, -6], [8, -15]]),
        (Op.DIV, [[0.5, -2 / 3], [2, -5 / 3]]),
    ],
)
def test_literal(code: Any, expected: Any) -> None:
    y = run(code, floats([[1, 2], [4, 5]]), floats([2, -3]), PLAIN)
    np.testing.assert_allclose(y, np.float32(expected), 1e-6)


def test_both_sides_stretch() -> None:
    assert run(Op.ADD, floats([[1], [2]]), floats([10, 20]), PLAIN).tolist() == [[11, 21], [12, 22]]
    assert run(Op.SUB, floats([1]), floats([[[1, 2]]]), PLAIN).tolist() == [[[0, -1]]]


@pytest.mark.parametrize(("fused", "expected"), [(NONE, [-7, 9]), (RELU, [0, 9]), (RELU1, [-1, 1]), (RELU6, [0, 6])])
def test_activation(fused: int, expected: list[int]) -> None:
    assert run(Op.ADD, floats([-8, 8]), floats([1]), int32(fused)).tolist() == expected


def test_literal_quantized() -> None:
    x = tensor("uint8", (3,), 0.5, 10), np.array([12, 6, 255], np.uint8)  # 1, -2, 122.5
    y = tensor("uint8", (1,), 0.25, 4), np.array([14], np.uint8)  # 2.5
    out = tensor("uint8", (), 1.0, 100)
    assert run(Op.ADD, x, y, PLAIN, out=out).tolist() == [104, 101, 225]  # 3.5, 0.5: halves of sums go up
    assert run(Op.SUB, x, y, PLAIN, out=out).tolist() == [99, 96, 220]  # -1.5, -4.5
    assert run(Op.MUL, x, y, PLAIN, out=out).tolist() == [103, 95, 255]


def test_integers_wrap_and_divide_downwards() -> None:
    x, y = ints([7, -7, 2**31 - 1, 5]), ints([2, 2, 1, 0])
    assert run(Op.ADD, x, y, PLAIN).tolist() == [[9, -5, -(2**31), 5]]
    assert run(Op.DIV, x, y, PLAIN).tolist() == [[3, -4, 2**31 - 1, 0]]
    assert run(Op.MUL, ints([2**20 + 1]), ints([2**12]), PLAIN).tolist() == [[2**12]]


@quickly
@given(pairs(NUMBERS), st.sampled_from(sorted(MEANING)), activations)
def test_is_the_operation_on_each_pair(both: list[Any], code: Any, fused: int) -> None:
    type = both[0][0]
    if type.dtype == np.int32:
        y = run(code, *both, PLAIN)
        assert_pairs(lambda real: assert_stores(type, y, real), lambda a, b: wrapped(MEANING[code](a, b)), *both)
        return
    out = unknown(type) if not type.is_quantized else tensor(type.dtype.name, (), 2.0, 30)
    y = run(code, *both, int32(fused), out=out)
    assert_pairs(lambda real: assert_stores(out, y, clamped(real, fused)), MEANING[code], *both)


@quickly
@given(pairs(FLOATS | INT32), activations)
def test_division_of_each_pair(both: list[Any], fused: int) -> None:
    type = both[0][0]
    if type.dtype == np.int32:
        y = run(Op.DIV, *both, PLAIN)
        assert_pairs(lambda real: assert_stores(type, y, real), lambda a, b: a // b if b else 0, *both)
        return
    assume(np.abs(both[1][1]).min() > 1e-2)
    y = run(Op.DIV, *both, int32(fused))
    assert_pairs(lambda real: assert_stores(type, y, clamped(real, fused)), lambda a, b: a / b, *both)


def test_a_constant_operand_gives_the_same() -> None:
    x, y = given_array(np.arange(6, dtype=np.uint8)), given_array(np.array([9], np.uint8))
    outs = [run(Op.MUL, x, y, PLAIN, out=tensor("uint8", (), 2.0, 3), constant=constant) for constant in (False, True)]
    assert np.array_equal(*outs)


def test_refusals() -> None:
    refuses_to_compute(
        "lhs of shape [2] and rhs of shape [3] do not broadcast", Op.ADD, floats([1, 2]), floats([1, 2, 3]), PLAIN
    )
    refuses_to_compute("RELU cannot be fused into a result of type TENSOR_INT32", Op.SUB, ints(1), ints(1), int32(RELU))
    refuses_to_add("rhs is TENSOR_INT32, must be TENSOR_FLOAT32", Op.ADD, floats([1]), ints(1), PLAIN)
    refuses_to_add("lhs has rank 5", Op.MUL, floats(np.ones((1, 1, 1, 1, 1))), floats([1]), PLAIN)
    codes = given_array(np.array([1], np.uint8))
    refuses_to_add("lhs is TENSOR_QUANT8_ASYMM, must be", Op.DIV, codes, codes, PLAIN)
    message = "out has scale 0.25, must be above lhs scale × rhs scale = 0.25"
    refuses_to_add(message, Op.MUL, codes, codes, PLAIN, outs=[tensor("uint8", (1,), 0.25, 0)])


def test_levels() -> None:
    x, codes, signed = floats([1]), given_array(np.array([1], np.uint8)), given_array(np.array([1], np.int8))
    assert [level(code, x, x, PLAIN) for code in (Op.ADD, Op.SUB, Op.MUL, Op.DIV)] == [1, 2, 1, 2]
    assert [level(code, codes, codes, PLAIN) for code in (Op.ADD, Op.SUB)] == [1, 3]
    assert level(Op.ADD, signed, signed, PLAIN) == 4
    assert [level(code, ints(1), ints(1), PLAIN) for code in (Op.ADD, Op.DIV)] == [4, 4]
