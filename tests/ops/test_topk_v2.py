"""TOPK_V2."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nnapi.codes import OperationCode
from nnapi.model.operand import tensor
from nnapi.model.operation import REGISTRY
from tests.ops.tensor_cases import (
    NUMBERS,
    assert_same,
    floats,
    int32,
    ints,
    quickly,
    refuses_to_add,
    refuses_to_compute,
    run_all,
    shapes,
    tensors,
    unknown,
)

TOPK_V2 = OperationCode.TOPK_V2
INDEX = tensor("int32")


def top(x: tuple[Any, ...], k: int) -> list[Any]:
    return run_all(TOPK_V2, [x, int32(k)], [unknown(x[0]), INDEX])


def test_literal() -> None:
    values, indices = top(floats([[1, -3, 2], [6, 4, 5]]), 2)
    assert_same(values, np.array([[2, 1], [6, 5]], np.float32))
    assert_same(indices, np.array([[2, 0], [0, 2]], np.int32))


def test_of_equal_values_the_larger_index_comes_first() -> None:
    values, indices = top(floats([5, 7, 5, 7, 7]), 4)
    assert values.tolist() == [7, 7, 7, 5]
    assert indices.tolist() == [4, 3, 1, 2]


@quickly
@given(tensors(NUMBERS, shapes(dimension=6)), st.data())
def test_rows_sorted_by_value_then_index(x: Any, data: Any) -> None:
    type, value = x
    value = value // 8 * 8 if value.dtype.kind != "f" else np.floor(value)  # so that some are equal
    k = data.draw(st.integers(1, value.shape[-1]))
    values, indices = top((type, value), k)
    assert values.shape == indices.shape == (*value.shape[:-1], k)
    for row in np.ndindex(*value.shape[:-1]):
        numbers = value[row].tolist()
        order = sorted(range(len(numbers)), key=lambda i: (numbers[i], i), reverse=True)[:k]
        assert_same(indices[row], np.int32(order))  # type: ignore[arg-type]
        assert_same(values[row], np.array([numbers[i] for i in order], value.dtype))


def test_refusals() -> None:
    x = floats([[1, 2]])
    outs = [tensor("float32"), INDEX]
    refuses_to_compute("k is 3, must not be above 2, the last dimension of input", TOPK_V2, x, int32(3), outs=outs)
    refuses_to_compute("k is 0, must be above 0", TOPK_V2, x, int32(0), outs=outs)
    refuses_to_add("has 2 outputs, got 1", TOPK_V2, x, int32(1))
    refuses_to_add("indices is TENSOR_FLOAT32", TOPK_V2, x, int32(1), outs=[outs[0], outs[0]])


def test_level() -> None:
    assert REGISTRY[TOPK_V2].match([ints(1)[0], int32(1)[0]], [INDEX, INDEX]).level == 3
