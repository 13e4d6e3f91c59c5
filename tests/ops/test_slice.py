"""SLICE, STRIDED_SLICE."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnapi.codes import OperationCode
from nnapi.compiling import compile
from nnapi.errors import BadDataError, OpFailedError
from nnapi.model.model import Model
from nnapi.model.operand import tensor
from tests.ops.tensor_cases import (
    NUMBERS,
    REALS,
    assert_moved,
    assert_same,
    flag,
    floats,
    int32,
    ints,
    level,
    quickly,
    refuses_to_add,
    refuses_to_compute,
    run,
    shapes,
    tensors,
)

SLICE, STRIDED_SLICE = OperationCode.SLICE, OperationCode.STRIDED_SLICE
NINE = floats([[1, 2, 3], [4, 5, 6], [7, 8, 9]])


def test_slice_literal() -> None:
    assert run(SLICE, NINE, ints(1, 0), ints(2, 2)).tolist() == [[4, 5], [7, 8]]
    assert run(SLICE, NINE, ints(2, 1), ints(-1, -1)).tolist() == [[8, 9]]
    assert run(SLICE, NINE, ints(3, 0), ints(0, 2)).shape == (0, 2)
    assert run(SLICE, NINE, ints(3, 0), ints(-1, 2)).shape == (0, 2)


@quickly
@given(tensors(NUMBERS, shapes(most=5)), st.data(), st.booleans())
def test_slice_is_a_block(x: tuple[Any, ...], data: Any, constant: bool) -> None:
    value = x[1]
    begin = [data.draw(st.integers(0, dimension)) for dimension in value.shape]
    size = [data.draw(st.integers(-1, dimension - first)) for dimension, first in zip(value.shape, begin, strict=True)]
    shape = [n - b if s < 0 else s for n, b, s in zip(value.shape, begin, size, strict=True)]

    def source(*index: Any) -> Any:
        return tuple(i + first for i, first in zip(index, begin, strict=True))

    assert_moved(run(SLICE, x, ints(*begin), ints(*size), constant=constant), value, shape, source)


@pytest.mark.parametrize(
    ("begin", "size", "message"),
    [
        ((0, 2), (1, 2), "begin 2 and size 2 leave axis 1, which has dimension 3"),
        ((-1, 0), (1, 1), "begin -1 and size 1 leave axis 0, which has dimension 3"),
        ((4, 0), (-1, 1), "begin 4 and size -1 leave axis 0, which has dimension 3"),
        ((0, 0), (1, -2), "begin 0 and size -2 leave axis 1, which has dimension 3"),
        ((0,), (1, 1), "begin holds 1 values, must hold 2, one for each axis of input"),
        ((0, 0), (1, 1, 1), "size holds 3 values, must hold 2, one for each axis of input"),
    ],
)
def test_slice_refuses(begin: tuple[int, ...], size: tuple[int, ...], message: str) -> None:
    refuses_to_compute(message, SLICE, NINE, ints(*begin), ints(*size))


def strided(
    x: tuple[Any, ...],
    begin: Any,
    end: Any,
    strides: Any,
    begin_mask: int = 0,
    end_mask: int = 0,
    shrink: int = 0,
    **more: bool,
) -> Any:
    vectors = (ints(*begin), ints(*end), ints(*strides))
    return run(STRIDED_SLICE, x, *vectors, int32(begin_mask), int32(end_mask), int32(shrink), **more)


def test_strided_slice_literal() -> None:
    assert strided(NINE, (0, 2), (3, -4), (2, -1)).tolist() == [[3, 2, 1], [9, 8, 7]]
    assert strided(NINE, (1, 1), (1, 1), (1, 1), begin_mask=1, end_mask=2).tolist() == [[2, 3]]
    assert strided(NINE, (-1, 0), (3, 3), (1, 2), shrink=1).tolist() == [7, 9]
    assert strided(NINE, (1, 1), (2, 2), (1, 1), shrink=3).tolist() == [5]
    assert strided(NINE, (0, 1), (3, 1), (1, 1)).shape == (3, 0)


def test_strided_slice_that_ends_before_it_begins() -> None:
    assert strided(floats([1, 2, 3]), (-9,), (-9,), (-1,)).shape == (0,)
    assert strided(floats([1, 2, 3]), (-9,), (0,), (-1,)).shape == (0,)
    assert strided(floats([1, 2, 3]), (2,), (9,), (-1,)).shape == (0,)


STEP = st.sampled_from([-3, -2, -1, 1, 2, 3])
PLACE = st.integers(-6, 6)


@quickly
@given(tensors(REALS, shapes()), st.data(), st.booleans())
def test_strided_slice_is_pythons(x: tuple[Any, ...], data: Any, constant: bool) -> None:
    value = x[1]
    rank = value.ndim
    begin, end, strides = ([data.draw(values) for _ in range(rank)] for values in (PLACE, PLACE, STEP))
    begin_mask, end_mask, wanted = (data.draw(st.integers(0, 2**rank - 1)) for _ in range(3))
    taken = [
        list(range(dimension))[None if begin_mask & 1 << i else b : None if end_mask & 1 << i else e : s]
        for i, (dimension, b, e, s) in enumerate(zip(value.shape, begin, end, strides, strict=True))
    ]
    # Only axes that are sliced to one element forwards may be dropped.
    shrink = sum(1 << i for i in range(rank) if wanted & 1 << i and strides[i] > 0 and len(taken[i]) == 1)
    out = strided(x, begin, end, strides, begin_mask, end_mask, shrink, constant=constant)
    kept = tuple(len(indices) for i, indices in enumerate(taken) if not shrink & 1 << i)
    assert out.shape == (kept or (1,))
    assert_same(out.reshape([len(indices) for indices in taken]), value[np.ix_(*taken)])


@pytest.mark.parametrize(
    ("begin", "end", "strides", "shrink", "message"),
    [
        ((0, 0), (3, 3), (1, 0), 0, "strides are [1, 0], must not be 0"),
        ((0, 0), (2, 3), (1, 1), 1, "axis 0 is dropped by shrink_axis_mask, but is sliced to 2 with stride 1"),
        ((0, 1), (3, 0), (1, -1), 2, "axis 1 is dropped by shrink_axis_mask, but is sliced to 1 with stride -1"),
        ((0,), (3, 3), (1, 1), 0, "begin holds 1 values, must hold 2"),
        ((0, 0), (3,), (1, 1), 0, "end holds 1 values, must hold 2"),
        ((0, 0), (3, 3), (1,), 0, "strides holds 1 values, must hold 2"),
    ],
)
def test_strided_slice_refuses(
    begin: tuple[int, ...], end: tuple[int, ...], strides: tuple[int, ...], shrink: int, message: str
) -> None:
    vectors = (ints(*begin), ints(*end), ints(*strides))
    refuses_to_compute(message, STRIDED_SLICE, NINE, *vectors, int32(0), int32(0), int32(shrink))


def test_refuses_when_added() -> None:
    five = floats(np.zeros((1,) * 5))
    masks = (int32(0),) * 3
    refuses_to_add("input has rank 5, must have", STRIDED_SLICE, five, ints(0), ints(1), ints(1), *masks)
    refuses_to_add("input is TENSOR_INT32, must be", STRIDED_SLICE, ints(1), ints(0), ints(1), ints(1), *masks)


def test_levels() -> None:
    x = floats([1])
    assert level(SLICE, x, ints(0), ints(1)) == 3
    assert level(STRIDED_SLICE, x, ints(0), ints(1), ints(1), int32(0), int32(0), int32(0)) == 2


def after_an_empty_slice(code: OperationCode, *more: tuple[Any, ...], out: Any = None) -> Any:
    """The result of an operation on the [0, 3] elements that a SLICE leaves of NINE."""
    out = out or tensor("float32")
    model = Model("empty")
    nine, begin, size = (model.add_operand(type) for type in (NINE[0], ints(0, 0)[0], ints(0, 0)[0]))
    model.set_operand_value(begin, np.array([3, 0], np.int32))
    model.set_operand_value(size, np.array([-1, 3], np.int32))
    empty = model.add_operand(tensor("float32", (0, 3)))
    model.add_operation(SLICE, [nine, begin, size], [empty])
    operands = [empty]
    for type, value in more:
        operands.append(model.add_operand(type))
        model.set_operand_value(operands[-1], np.asarray(value, type.dtype))
    result = model.add_operand(out)
    model.add_operation(code, operands, [result])
    model.identify_inputs_and_outputs([nine], [result])
    model.finish()
    return compile(model, ["nnapi-reference"]).run(NINE[1])[0]


def test_operations_that_take_no_elements() -> None:
    assert after_an_empty_slice(OperationCode.TRANSPOSE, ints(1, 0)).shape == (3, 0)
    assert after_an_empty_slice(OperationCode.CONCATENATION, int32(0)).shape == (0, 3)
    assert after_an_empty_slice(SLICE, ints(0, 1), ints(-1, 2)).shape == (0, 2)
    codes = tensor("uint8", (), 0.5, 3)
    assert after_an_empty_slice(OperationCode.QUANTIZE, out=codes).shape == (0, 3)


@pytest.mark.parametrize(
    ("code", "more", "error"),
    [
        (OperationCode.FLOOR, (), OpFailedError),
        (OperationCode.SQUEEZE, (ints(0),), OpFailedError),
        (OperationCode.REDUCE_SUM, (ints(0), flag(False)), OpFailedError),
        (OperationCode.MEAN, (ints(0), int32(0)), BadDataError),
        (OperationCode.RESHAPE, (ints(-1),), BadDataError),
        (OperationCode.EXPAND_DIMS, (int32(0),), BadDataError),
    ],
)
def test_operations_that_need_elements(code: OperationCode, more: tuple[Any, ...], error: Any) -> None:
    with pytest.raises(error, match=rf"{code.name} \(#1\): input has no elements"):
        after_an_empty_slice(code, *more)
