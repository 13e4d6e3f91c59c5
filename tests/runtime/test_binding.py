"""Arguments as bytes, and results in buffers of other sizes."""

from typing import Any

import numpy as np
import pytest

from nnapi import Memory, OperandCode, OperandType, tensor
from nnapi.errors import BadDataError, BadStateError, UnmappableError
from nnapi.model.model import Model, Operand
from nnapi.runtime.binding import Argument, Binding, as_bytes
from tests.graphs import finished_sum, on_reference

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


@pytest.fixture
def binding() -> Binding:
    """The inputs of a sum of [?, 2] and [?, 2]."""
    return Binding(on_reference(finished_sum(tensor("float32", (0, 2)))), "input")


@pytest.mark.parametrize("index", [-1, 2])
def test_an_argument_that_the_model_lacks(index: int, binding: Binding) -> None:
    with pytest.raises(BadDataError, match=f"input {index} does not exist, the model has 2"):
        binding.set(index, np.zeros((3, 2), np.float32), None, None)
    assert [binding.operand(each).name for each in (0, 1)] == ["x", "y"]


@pytest.mark.parametrize(
    ("buffer", "type", "length", "dimensions"),
    [
        (np.zeros((3, 2), np.float32), None, None, (3, 2)),
        (np.zeros((3, 2), np.float32), tensor("float32", (1, 2)), 8, (1, 2)),
        (np.zeros(24, np.uint8), tensor("float32", (3, 2)), None, (3, 2)),
        (bytes(8), tensor("float32", (1, 2)), None, (1, 2)),
        (None, None, None, (0, 2)),
        (None, tensor("float32", (5, 2)), None, (5, 2)),
    ],
)
def test_the_dimensions_of_an_argument(
    buffer: Any, type: OperandType | None, length: int | None, dimensions: tuple[int, ...], binding: Binding
) -> None:
    assert binding.find_missing() == "input 0 (x (0)) has not been set"
    binding.set(0, buffer, type, length)
    found = binding.arguments[0]
    assert found is not None
    assert (found.dimensions, found.is_omitted) == (dimensions, buffer is None)
    assert found.buffer is None or found.buffer.nbytes == 4 * dimensions[0] * dimensions[1]
    assert binding.find_missing() == "input 1 (y (1)) has not been set"
    assert binding.is_touched
    with pytest.raises(BadStateError, match="input 0 has been set already"):
        binding.set(0, buffer, type, length)


@pytest.mark.parametrize(
    ("buffer", "type", "length", "message"),
    [
        (np.zeros((3, 3), np.float32), None, None, r"cannot be given dimensions \[3, 3\]"),
        (bytes(24), None, None, r"dimensions must be known, got \[0, 2\]"),
        (bytes(24), tensor("float32", (2, 2)), None, "takes 16 bytes, got 24"),
        (bytes(16), tensor("float32", (2, 2)), 17, "length 17 of a buffer of 16 bytes"),
        (bytes(16), tensor("float32", (2, 2)), 0, "an empty buffer for input 0"),
        (bytes(16), tensor("float32", (2, 2)), 1 << 32, "length 4294967296 for input 0 is above 4294967295"),
    ],
)
def test_arguments_that_do_not_fit(
    buffer: Any, type: OperandType | None, length: int | None, message: str, binding: Binding
) -> None:
    with pytest.raises(BadDataError, match=message):
        binding.set(0, buffer, type, length)
    assert binding.arguments[0] is None


@pytest.mark.parametrize(("length", "message"), [(15, "takes at least 16 bytes, got 15"), (16, None), (20, None)])
def test_a_padded_buffer_may_be_longer(length: int, message: str | None, binding: Binding) -> None:
    binding.padded = True
    if message is None:
        binding.set(0, bytes(length), tensor("float32", (2, 2)), None)
        found = binding.arguments[0]
        assert found is not None
        array = found.array()
        assert array is not None
        assert array.shape == (2, 2)
    else:
        with pytest.raises(BadDataError, match=message):
            binding.set(0, bytes(length), tensor("float32", (2, 2)), None)


@pytest.mark.parametrize(
    ("offset", "length", "message"),
    [
        (0, 16, None),
        (8, 16, None),
        (0, 0, "offset and length are both 0"),
        (12, 16, "region of 16 bytes at offset 12 is not inside"),
        (0, 12, "takes 16 bytes, got 12"),
    ],
)
def test_a_region_of_a_memory_as_an_argument(offset: int, length: int, message: str | None, binding: Binding) -> None:
    memory = Memory.from_array(np.arange(6, dtype=np.float32))
    type = tensor("float32", (2, 2))
    if message is None:
        binding.set_from_memory(0, memory, offset, length, type)
        found = binding.arguments[0]
        assert found is not None
        array = found.array()
        assert array is not None
        assert array[0, 0] == offset / 4
    else:
        with pytest.raises(BadDataError, match=message):
            binding.set_from_memory(0, memory, offset, length, type)


@pytest.mark.parametrize(("type", "dimensions"), [(None, (0, 2)), (tensor("float32", (3, 2)), (3, 2))])
def test_an_output_may_be_larger_than_what_comes_out(type: OperandType | None, dimensions: tuple[int, ...]) -> None:
    outputs = Binding(on_reference(finished_sum(tensor("float32", (0, 2)))), "output")
    outputs.set(0, np.zeros((3, 2), np.float32), type, None)
    found = outputs.arguments[0]
    assert found is not None
    assert found.dimensions == dimensions
