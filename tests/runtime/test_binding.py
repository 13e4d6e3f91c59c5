"""Arguments as bytes, and results in buffers of other sizes."""

from typing import Any

import numpy as np
import pytest

from nnapi import Memory, OperandCode, OperandType, tensor
from nnapi.errors import BadDataError, UnmappableError
from nnapi.model.model import Model, Operand
from nnapi.runtime.binding import Argument, as_bytes

FLOATS, BYTES = tensor("float32", (2, 2)), tensor("quant8_asymm", (4,), 0.5, 3)


def operand(type: OperandType) -> Operand:
    model = Model()
    return model.operands[model.add_operand(type)]


@pytest.mark.parametrize(
    ("type", "buffer", "shape"),
    [
        (FLOATS, np.zeros((2, 3), np.float32), (2, 3)),
        (FLOATS, np.zeros(16, np.uint8), None),  # bytes
        (FLOATS, np.float32(1).reshape(()), None),  # no dimensions
        (FLOATS, bytes(12), None),
        (BYTES, np.zeros(6, np.uint8), (6,)),  # of rank 1 it may be either
        (tensor("quant8_asymm", (2, 2), 0.5, 3), np.zeros(4, np.uint8), None),
        (tensor("quant8_asymm", (2, 2), 0.5, 3), np.zeros((2, 2), np.uint8), (2, 2)),
        (tensor("bool8", (3,)), np.ones(3, np.bool_), (3,)),
    ],
)
def test_an_array_brings_its_shape_unless_it_holds_bytes(
    type: OperandType, buffer: Any, shape: tuple[int, ...] | None
) -> None:
    data, found = as_bytes(operand(type), buffer, writable=False)
    assert (data.dtype, data.ndim, found) == (np.uint8, 1, shape)
    assert data.nbytes == memoryview(buffer).nbytes


def read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("type", "buffer", "writable", "message"),
    [
        (FLOATS, np.zeros(4, np.float64), False, "stores float32, got an array of float64"),
        (FLOATS, np.zeros((4, 4), np.float32)[:, :2], False, "the array is not C-contiguous"),
        (FLOATS, read_only(np.zeros(4, np.float32)), True, "the array is read-only"),
        (FLOATS, bytes(16), True, "the buffer is read-only"),
        (FLOATS, [1.0], False, "was given list, needs an array"),
        (FLOATS, np.zeros(4, np.bool_), False, "stores float32, got an array of bool"),
        (FLOATS, read_only(np.zeros(4, np.float32)), False, None),
        (FLOATS, bytearray(16), True, None),
    ],
)
def test_buffers_that_do_not_fit(type: OperandType, buffer: Any, writable: bool, message: str | None) -> None:
    if message is None:
        assert as_bytes(operand(type), buffer, writable=writable)[0].nbytes == 16
    else:
        with pytest.raises(BadDataError, match=message):
            as_bytes(operand(type), buffer, writable=writable)


@pytest.mark.parametrize(
    ("result", "fits", "stored"),
    [
        ([[1, 2], [3, 4]], True, [1, 2, 3, 4, 0]),
        ([[1], [2]], True, [1, 2, 0, 0, 0]),  # smaller than declared: the beginning
        ([[1, 2, 3, 4, 5]], True, [1, 2, 3, 4, 5]),  # the whole buffer
        ([[1, 2, 3, 4, 5, 6]], False, [0, 0, 0, 0, 0]),
    ],
)
def test_a_result_fills_the_beginning_of_its_buffer(result: list[list[int]], fits: bool, stored: list[int]) -> None:
    memory = np.zeros(5, np.float32)
    argument = Argument(FLOATS, memory.view(np.uint8))
    assert argument.fill(np.array(result, np.float32)) is fits
    assert memory.tolist() == stored


def test_a_result_of_another_type_is_stored_as_bytes() -> None:
    memory = np.zeros(4, np.float32)
    assert Argument(FLOATS, memory.view(np.uint8)).fill(np.arange(4, dtype=np.int32).reshape(2, 2))
    assert memory.view(np.int32).tolist() == [0, 1, 2, 3]


def test_an_omitted_argument_has_no_array_and_takes_any_result() -> None:
    omitted = Argument(FLOATS)
    assert omitted.is_omitted
    assert omitted.array() is None
    assert omitted.fill(np.zeros(99))


def test_a_region_of_a_memory_is_mapped_on_demand() -> None:
    values = np.arange(6, dtype=np.float32)
    argument = Argument(FLOATS, region=(Memory.from_array(values), 4, 20))
    assert not argument.is_omitted
    assert argument.buffer is None
    array = argument.array()
    assert array is not None
    assert array.tolist() == [[1, 2], [3, 4]]
    assert argument.array() is array


def test_a_memory_that_is_not_writable_takes_no_result() -> None:
    memory = Memory.from_array(read_only(np.zeros(4, np.float32)))
    with pytest.raises(UnmappableError, match="the memory is not writable"):
        Argument(FLOATS, region=(memory, 0, 16)).fill(np.zeros((2, 2), np.float32))


def test_the_type_of_a_scalar_has_no_dimensions() -> None:
    value = np.float32(1.5).reshape(1)
    argument = Argument(OperandType(OperandCode.FLOAT32), value.view(np.uint8))
    assert argument.dimensions == ()
    found = argument.array()
    assert found is not None
    assert (found.shape, float(found)) == ((), 1.5)
