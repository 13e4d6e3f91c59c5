"""TILE."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from nnapi.codes import OperationCode
from tests.ops.tensor_cases import (
    NUMBERS,
    assert_moved,
    floats,
    ints,
    level,
    quickly,
    refuses_to_add,
    refuses_to_compute,
    run,
    shapes,
    tensors,
)

TILE = OperationCode.TILE


def test_literal() -> None:
    x = floats([[1, 2], [3, 4]])
    assert run(TILE, x, ints(1, 2)).tolist() == [[1, 2, 1, 2], [3, 4, 3, 4]]
    assert run(TILE, x, ints(2, 1)).tolist() == [[1, 2], [3, 4], [1, 2], [3, 4]]
    assert run(TILE, x, ints(2, 0)).shape == (4, 0)


@quickly
@given(tensors(NUMBERS, shapes(most=5, dimension=3)), st.data(), st.booleans())
def test_indices_wrap_around(x: tuple[Any, ...], data: Any, constant: bool) -> None:
    value = x[1]
    multiples = [data.draw(st.integers(1, 3)) for _ in value.shape]

    def source(*index: Any) -> Any:
        return tuple(i % dimension for i, dimension in zip(index, value.shape, strict=True))

    shape = tuple(dimension * times for dimension, times in zip(value.shape, multiples, strict=True))
    assert_moved(run(TILE, x, ints(*multiples), constant=constant), value, shape, source)


def test_refusals() -> None:
    x = floats([[1, 2]])
    refuses_to_compute("multiples holds 1 values, must hold 2", TILE, x, ints(2))
    refuses_to_compute("multiples [2, -1] must not be negative", TILE, x, ints(2, -1))
    refuses_to_compute("multiples has rank 2, must have rank 1", TILE, x, ints([2, 1]))
    refuses_to_add("multiples is TENSOR_FLOAT32, must be TENSOR_INT32", TILE, x, floats([1, 1]))


def test_level() -> None:
    assert level(TILE, ints(1), ints(1)) == 3
