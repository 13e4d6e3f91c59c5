"""Buffers in host memory, for drivers that have no memory of their own."""

from __future__ import annotations

from nnapi.errors import OpFailedError, need
from nnapi.model.operand import Array, OperandType


class HostMemory:
    """Base class of drivers whose buffers lie in host memory."""

    def allocate(self, type: OperandType) -> HostBuffer:
        need(type.is_known, f"no memory is allocated for unknown dimensions: {type}", OpFailedError)
        return HostBuffer()


class HostBuffer:
    """A buffer that holds the stored array itself, without a copy."""

    def __init__(self) -> None:
        self._array: Array | None = None

    @property
    def has_data(self) -> bool:
        return self._array is not None

    def load(self) -> Array:
        if self._array is None:
            raise OpFailedError("the buffer holds no data")
        return self._array

    def store(self, array: Array) -> None:
        self._array = array

    def clear(self) -> None:
        self._array = None
