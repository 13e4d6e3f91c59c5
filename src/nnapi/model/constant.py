"""Convert constants between bytes and arrays of their operand's type."""

import sys
from contextlib import suppress
from typing import Any

import numpy as np

from nnapi.codes import OEM_SCALAR
from nnapi.errors import BadDataError, UnmappableError, need
from nnapi.model.graph import Operand
from nnapi.model.memory import PROTECTIONS, view_bytes
from nnapi.model.operand import DTYPES, Array, stores


def can_change(array: Array) -> bool:
    """Return whether an array's bytes are writable, through the array or through the base of a view."""
    owner: Any = array
    while isinstance(owner, np.ndarray):
        if owner.flags.writeable:
            return True
        owner = owner.base
    return owner is not None and not memoryview(owner).readonly


def to_array(operand: Operand, value: Array) -> Array:
    """Return stored bytes as a read-only array of the operand's type and shape."""
    if operand.type.code in DTYPES:
        value = value.view(operand.type.dtype).reshape(operand.type.dimensions)
    value.flags.writeable = False
    return value


def as_bytes(operand: Operand, value: Any) -> Array:
    """Return the bytes of a constant as a flat uint8 array, without a copy where possible."""
    if isinstance(value, bytes | bytearray | memoryview):
        return np.frombuffer(value, np.uint8)
    array = np.asarray(value)
    dtype = operand.type.dtype if operand.type.nbytes else array.dtype
    if not isinstance(value, np.ndarray | np.generic) or array.dtype == np.bool_:
        try:
            array = np.asarray(value, dtype)
        except (OverflowError, ValueError, TypeError) as error:
            raise BadDataError(f"value {value!r} for {operand}: {error}") from None
    legal = array.dtype == np.uint8 or array.dtype == dtype or stores(operand.type, array.dtype)
    if not legal:
        raise BadDataError(f"value of {array.dtype} for {operand}, which stores {dtype}")
    need(
        array.dtype.byteorder != (">" if sys.byteorder == "little" else "<"),
        "value in foreign byte order",
        BadDataError,
    )
    return view_bytes(array)


def need_size(operand: Operand, length: int) -> None:
    type = operand.type
    if not type.is_known:
        raise BadDataError(f"{operand} has unknown dimensions and cannot be a constant")
    if type.code != OEM_SCALAR and length != type.nbytes:
        raise BadDataError(f"{operand} takes {type.nbytes} bytes, got {length}")


def need_value_size(operand: Operand, length: int, empty_tensors: bool) -> None:
    """Raise BadDataError unless a value has the size of its operand; models of files have values without elements."""
    is_empty = empty_tensors and not length and 0 in operand.type.dimensions
    if not is_empty:
        need(length, f"an empty value for {operand}", BadDataError)
        need_size(operand, length)


def bind(operand: Operand) -> None:
    """Convert a constant's value to an array of its type and shape; writable data is copied."""
    value = operand.value
    if not operand.in_memory:
        if can_change(value):
            value = value.copy()
            value.flags.writeable = False  # else each partition would copy it again
        operand.value = to_array(operand, value)
    elif isinstance(value, tuple):
        memory = value[0]
        if not memory.size:
            raise BadDataError(f"{operand} lives in a memory of size 0")
        if memory.protect & ~PROTECTIONS:
            raise BadDataError(f"{operand} lives in a memory with protection {memory.protect}")
        with suppress(UnmappableError):  # the compilation will raise it
            map_value(operand)


def map_value(operand: Operand) -> None:
    """Replace a constant's region of a memory by an array; UnmappableError names the operand."""
    if isinstance(operand.value, tuple):
        memory, offset, length = operand.value
        try:
            operand.value = to_array(operand, memory.view(offset, length))
        except UnmappableError as error:
            raise error.at(str(operand)) from None
