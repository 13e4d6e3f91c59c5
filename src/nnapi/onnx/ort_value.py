"""Tensors of a program, in the memory of the host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi.importers.onnx.tensors import ELEM_OF
from nnapi.model.operand import Array
from nnapi.onnx.failures import InvalidArgument
from nnapi.onnx.types import dtype_from, type_of


class OrtValue:
    """An array that inputs and outputs are bound to."""

    def __init__(self, array: Array) -> None:
        self._array = array

    @classmethod
    def ortvalue_from_numpy(cls, array: Array, device_type: str = "cpu", device_id: int = 0) -> OrtValue:
        """The memory of an array itself."""
        need_host(device_type)
        return cls(np.ascontiguousarray(array))

    @classmethod
    def ortvalue_from_shape_and_type(
        cls, shape: Sequence[int], element_type: Any, device_type: str = "cpu", device_id: int = 0
    ) -> OrtValue:
        """Make memory for results; ``element_type`` is a type of NumPy's or a number of TensorProto.DataType."""
        need_host(device_type)
        return cls(np.zeros(shape, dtype_from(element_type)))

    def numpy(self) -> Array:
        """A copy as an array."""
        return self._array.copy()

    def update_inplace(self, array: Array) -> None:
        """Overwrite the elements. InvalidArgument where the array is of another type or shape."""
        if (array.dtype, array.shape) != (self._array.dtype, self._array.shape):
            raise InvalidArgument(f"{_describe(array)} does not fit into {_describe(self._array)}")
        self._array[...] = array

    def view(self) -> Array:
        """The memory itself."""
        return self._array

    def shape(self) -> list[int]:
        return list(self._array.shape)

    def data_type(self) -> str:
        return type_of(self._array.dtype)

    def element_type(self) -> int:
        return ELEM_OF[self._array.dtype]

    def data_ptr(self) -> int:
        return int(self._array.ctypes.data)

    def tensor_size_in_bytes(self) -> int:
        return self._array.nbytes

    def device_name(self) -> str:
        return "cpu"

    def has_value(self) -> bool:
        return True

    def is_tensor(self) -> bool:
        return True


def need_host(device_type: str) -> None:
    """InvalidArgument for memory of other devices than the processor."""
    if device_type.lower() != "cpu":
        raise InvalidArgument(f"memory of {device_type} is not to be had, only that of cpu")


def _describe(array: Array) -> str:
    return f"{type_of(array.dtype)} {list(array.shape)}"
