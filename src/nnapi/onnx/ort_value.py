"""Tensors in host memory, and their types and devices by ONNX Runtime's names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from nnapi.importers.onnx.tensors import DTYPES, ELEM_OF, NAMES
from nnapi.model.operand import Array
from nnapi.onnx.failures import InvalidArgument

TYPES = {elem: f"tensor({NAMES[elem].lower()})" for elem in DTYPES}


def dtype_from(element_type: Any) -> np.dtype[Any]:
    """Return the dtype for a NumPy type or a value of TensorProto.DataType; raise InvalidArgument for others."""
    if not isinstance(element_type, int):
        dtype: np.dtype[Any] = np.dtype(element_type)
        return dtype
    if element_type not in DTYPES:
        raise InvalidArgument(f"element type {element_type} is not one that NNAPI has")
    return DTYPES[element_type]


def type_of(dtype: np.dtype[Any]) -> str:
    elem = ELEM_OF.get(dtype)
    return str(dtype) if elem is None else TYPES[elem]


class OrtValue:
    """An array to which inputs and outputs can be bound."""

    def __init__(self, array: Array) -> None:
        self._array = array

    @classmethod
    def ortvalue_from_numpy(cls, array: Array, device_type: str = "cpu", device_id: int = 0) -> OrtValue:
        """Return a value that shares the memory of an array, if the array is C-contiguous."""
        need_host(device_type)
        return cls(np.ascontiguousarray(array))

    @classmethod
    def ortvalue_from_shape_and_type(
        cls, shape: Sequence[int], element_type: Any, device_type: str = "cpu", device_id: int = 0
    ) -> OrtValue:
        """Return a value with new memory; ``element_type`` is a NumPy type or a value of TensorProto.DataType."""
        need_host(device_type)
        return cls(np.zeros(shape, dtype_from(element_type)))

    def numpy(self) -> Array:
        """Return a copy of the array."""
        return self._array.copy()

    def update_inplace(self, array: Array) -> None:
        """Overwrite the elements; raise InvalidArgument if type or shape differ."""
        if (array.dtype, array.shape) != (self._array.dtype, self._array.shape):
            raise InvalidArgument(f"{_describe(array)} does not fit into {_describe(self._array)}")
        self._array[...] = array

    def view(self) -> Array:
        """Return the array itself."""
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
    """Raise InvalidArgument for memory of any device but the host."""
    if device_type.lower() != "cpu":
        raise InvalidArgument(f"memory of device type {device_type} is not available, only cpu")


def _describe(array: Array) -> str:
    return f"{type_of(array.dtype)} {list(array.shape)}"


class OrtMemoryInfo(NamedTuple):
    name: str = "Cpu"
    device_id: int = 0
    device_vendor_id: int = 0


class OrtDevice(NamedTuple):
    type: str = "cpu"
    id: int = 0

    @classmethod
    def make(cls, ort_device_name: str, device_id: int) -> OrtDevice:
        """Return the device with this name; raise InvalidArgument for all but ``cpu``."""
        need_host(ort_device_name)
        return cls(ort_device_name, device_id)

    def device_type(self) -> str:
        return self.type

    def device_id(self) -> int:
        return self.id


class OrtValueVector(list[OrtValue]):
    """The values that ``run_with_ortvaluevector`` reads and writes."""

    def push_back(self, value: OrtValue) -> None:
        self.append(value)
