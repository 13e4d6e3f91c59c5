"""EQUAL, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL, NOT_EQUAL."""

import operator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnapi.codes import OperationCode as Op
from nnapi.model.operand import tensor
from tests.ops.pair_cases import assert_pairs, pairs
from tests.ops.tensor_cases import (
    BOOL8,
    NUMBERS,
    assert_same,
    floats,
    ints,
    level,
    quickly,
    refuses_to_add,
    refuses_to_compute,
    run,
)

TRUTH = tensor("bool8")
MEANING = {
    Op.EQUAL: operator.eq,
    Op.GREATER: operator.gt,
    Op.GREATER_EQUAL: operator.ge,
    Op.LESS: operator.lt,
    Op.LESS_EQUAL: operator.le,
    Op.NOT_EQUAL: operator.ne,
}


@pytest.mark.parametrize(
    ("code", "out"),
    [
        (Op.EQUAL, [0, 1, 0]),
        (Op.GREATER, [0, 0, 1]),
        (Op.GREATER_EQUAL, [0, 1, 1]),
        (Op.LESS, [1, 0, 0]),
        (Op.LESS_EQUAL, [1, 1, 0]),
        (Op.NOT_EQUAL, [1, 0, 1]),
    ],
)
def test_literal(code: Any, out: Any) -> None:
    assert_same(run(code, floats([-1, 2, 3]), floats([2]), out=TRUTH), np.uint8(out))
    x = tensor("uint8", (3,), 0.5, 10), np.array([8, 14, 16], np.uint8)  # -1, 2, 3
    y = tensor("uint8", (1,), 2.0, 128), np.array([129], np.uint8)  # 2
    assert_same(run(code, x, y, out=TRUTH), np.uint8(out))


@quickly
@given(st.sampled_from(sorted(MEANING)), pairs(NUMBERS | BOOL8))
def test_each_pair_by_itself(code: Any, pair: Any) -> None:
    x, y = ((type, value & 1 if type.code == TRUTH.code else value) for type, value in pair)
    assert_pairs(lambda real: assert_same(run(code, x, y, out=TRUTH), real.astype(np.uint8)), MEANING[code], x, y)


@quickly
@given(pairs(NUMBERS | BOOL8))
def test_each_is_the_negation_of_another(pair: list[Any]) -> None:
    for code, other in ((Op.EQUAL, Op.NOT_EQUAL), (Op.LESS, Op.GREATER_EQUAL), (Op.GREATER, Op.LESS_EQUAL)):
        assert_same(run(code, *pair, out=TRUTH), 1 - run(other, *pair, out=TRUTH))


def test_any_byte_but_zero_is_true() -> None:
    x, y = ((tensor("bool8", (3,)), np.uint8(value)) for value in ([1, 0, 2], [255, 1, 0]))  # type: ignore[arg-type]
    assert run(Op.EQUAL, x, y, out=TRUTH).tolist() == [1, 0, 0]
    assert run(Op.LESS, x, y, out=TRUTH).tolist() == [0, 1, 0]


def test_refusals() -> None:
    refuses_to_compute(
        "x of shape [2] and y of shape [3] do not broadcast", Op.LESS, floats([1, 2]), floats([1, 2, 3]), outs=[TRUTH]
    )
    refuses_to_add("y is TENSOR_INT32, must be TENSOR_FLOAT32", Op.LESS, floats([1]), ints(1), outs=[TRUTH])
    refuses_to_add("out is TENSOR_FLOAT32, must be TENSOR_BOOL8", Op.LESS, floats([1]), floats([1]))


def test_levels() -> None:
    assert [level(code, floats([1]), floats([1]), out=TRUTH) for code in MEANING] == [3] * 6
