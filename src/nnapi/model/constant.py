"""Values of constants: bytes as arrays of their operand's type, and back."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from nnapi.errors import BadDataError, need
from nnapi.model.operand import DTYPES, Array, stores
from nnapi.model.parts import Operand


def can_change(array: Array) -> bool:
    """Whether somebody may still write to the bytes, here or through what the array is a view of."""
    owner: Any = array
    while isinstance(owner, np.ndarray):
        if owner.flags.writeable:
            return True
        owner = owner.base
    return owner is not None and not memoryview(owner).readonly


def typed(operand: Operand, value: Array) -> Array:
    """Stored bytes as a read-only array of the operand's type and shape."""
    if operand.type.code in DTYPES:
        value = value.view(operand.type.dtype).reshape(operand.type.dimensions)
    value.flags.writeable = False
    return value


def as_bytes(operand: Operand, value: Any) -> Array:
    """The bytes of a constant as a flat uint8 array, without a copy where there are bytes."""
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
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)
