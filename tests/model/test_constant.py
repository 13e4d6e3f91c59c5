"""Constants as bytes and as arrays: who may change them, what fits, and memories that hold them."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nnapi import Memory, Model, OperandCode, OperandType, tensor
from nnapi.codes import OEM_SCALAR
from nnapi.errors import BadDataError, UnmappableError
from nnapi.model.constant import as_bytes, bind, can_change, need_size, to_array
from nnapi.model.graph import Lifetime, Operand


def operand(type: OperandType, value: Any = None, *, in_memory: bool = False) -> Operand:
    found = Operand(0, type, "x", Lifetime.CONSTANT)
    found.value, found.in_memory = value, in_memory
    return found


def test_bytes_that_can_change_are_those_that_somebody_may_write() -> None:
    own = np.zeros(4, np.uint8)
    view = own[1:]
    view.flags.writeable = False
    assert can_change(own)
    assert can_change(view), "through its base"
    own.flags.writeable = False
    assert not can_change(own)
    assert not can_change(np.frombuffer(bytes(4), np.uint8))
    frozen = np.frombuffer(bytearray(4), np.uint8)
    frozen.flags.writeable = False
    assert can_change(frozen)


@pytest.mark.parametrize(
    ("type", "value", "stored"),
    [
        (tensor("float32", (2,)), [1, 2], np.array([1, 2], np.float32)),
        (tensor("float32", (2,)), np.array([1, 2], np.float32), np.array([1, 2], np.float32)),
        (tensor("float32", (1,)), np.zeros(4, np.uint8), np.zeros(4, np.uint8)),
        (tensor("float32", (1,)), bytearray(4), np.zeros(4, np.uint8)),
        (tensor("bool8", (2,)), np.array([True, False]), np.array([1, 0], np.uint8)),
        (tensor("bool8", (2,)), [True, False], np.array([1, 0], np.uint8)),
        (tensor("float32", (2, 2)), np.arange(4, dtype=np.float32).reshape(2, 2).T, np.float32([0, 2, 1, 3])),  # type: ignore[arg-type]
        (OperandType(OperandCode.INT32), 7, np.array([7], np.int32)),
    ],
)
def test_the_bytes_of_a_constant(type: OperandType, value: Any, stored: Any) -> None:
    found = as_bytes(operand(type), value)
    assert (found.dtype, found.ndim) == (np.uint8, 1)
    assert found.tobytes() == stored.tobytes()


@pytest.mark.parametrize(
    ("type", "value", "message"),
    [
        (tensor("float32", (2,)), np.zeros(2), "value of float64 for x .*, which stores float32"),
        (tensor("float32", (2,)), np.zeros(2, ">f4"), "value in foreign byte order|value of >f4"),
        (tensor("float32", (2,)), ["a", "b"], r"value \['a', 'b'\] for x "),
        (tensor("uint8", (1,), 0.5), [256], r"value \[256\] for x "),
        (tensor("int32", (1,)), np.zeros(1, np.int64), "value of int64 for x .*, which stores int32"),
    ],
)
def test_constants_of_another_type(type: OperandType, value: Any, message: str) -> None:
    with pytest.raises(BadDataError, match=message):
        as_bytes(operand(type), value)


def test_the_size_of_a_constant() -> None:
    need_size(operand(tensor("float32", (2, 3))), 24)
    need_size(operand(OperandType(OEM_SCALAR)), 7)
    for length in (20, 28):
        with pytest.raises(BadDataError, match=f"takes 24 bytes, got {length}"):
            need_size(operand(tensor("float32", (2, 3))), length)
    with pytest.raises(BadDataError, match="has unknown dimensions and cannot be a constant"):
        need_size(operand(tensor("float32", (2, 0))), 0)


def test_a_constant_is_copied_where_it_may_change() -> None:
    changing = np.arange(8, dtype=np.uint8)
    x = operand(tensor("float32", (2, 1)), changing)
    bind(x)
    assert (x.value.shape, x.value.dtype, x.value.flags.writeable) == ((2, 1), np.float32, False)
    assert not np.shares_memory(x.value, changing)
    fixed = np.frombuffer(bytes(range(8)), np.uint8)
    y = operand(tensor("float32", (2,)), fixed)
    bind(y)
    assert np.shares_memory(y.value, fixed)


def test_a_constant_in_a_memory_is_mapped_at_its_offset() -> None:
    memory = Memory.from_array(np.arange(5, dtype=np.float32))
    x = operand(tensor("float32", (2,)), (memory, 4, 8), in_memory=True)
    bind(x)
    assert x.value.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("size", "protect", "message"), [(0, 1, "lives in a memory of size 0"), (8, 8, "with protection 8")]
)
def test_memories_that_hold_no_constants(size: int, protect: int, message: str) -> None:
    memory = SimpleNamespace(size=size, protect=protect, view=lambda *_: pytest.fail("it is mapped"))
    with pytest.raises(BadDataError, match=message):
        bind(operand(tensor("float32", (2,)), (memory, 0, 8), in_memory=True))


def test_a_memory_that_cannot_be_mapped_is_the_fault_of_the_compilation() -> None:
    def fail(*_: object) -> None:
        raise UnmappableError("gone")

    value = (SimpleNamespace(size=8, protect=1, view=fail), 0, 8)
    x = operand(tensor("float32", (2,)), value, in_memory=True)
    bind(x)
    assert x.value is value


def test_values_of_the_oem_have_no_array_type() -> None:
    found = to_array(operand(OperandType(OEM_SCALAR)), np.arange(3, dtype=np.uint8))
    assert (found.dtype, found.tolist(), found.flags.writeable) == (np.uint8, [0, 1, 2], False)


def test_values_without_elements_belong_to_models_of_files() -> None:
    """NNAPI refuses them."""
    for is_permitted in (False, True):
        model = Model()
        model.empty_tensors = is_permitted
        index = model.add_operand(tensor("float32", (0, 3)))
        known = model.add_operand(tensor("float32", (2, 3)))
        with pytest.raises(BadDataError, match="an empty value"):
            model.set_operand_value(known, np.zeros((0, 3), np.float32))
        if is_permitted:
            model.set_operand_value(index, np.zeros((0, 3), np.float32))
        else:
            with pytest.raises(BadDataError, match="an empty value"):
                model.set_operand_value(index, np.zeros((0, 3), np.float32))
