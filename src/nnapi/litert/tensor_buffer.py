"""LiteRT's TensorBuffer in memory shared with NumPy."""

from typing import Any

import numpy as np
from ai_edge_litert.tensor_buffer import TensorBuffer

from nnapi.model.operand import Array

ALIGNMENT = 64
"""Alignment in bytes that LiteRT requires of shared memory."""


class ArrayBuffer(TensorBuffer):  # type: ignore[misc]  # LiteRT has no types
    """A TensorBuffer with the dtype and shape of ``like``, initially zeros; ``array`` is a view of its elements."""

    def __init__(self, like: Array) -> None:
        memory = np.zeros(like.nbytes + ALIGNMENT, np.uint8)
        begin = -memory.ctypes.data % ALIGNMENT
        stored = memory[begin : begin + like.nbytes]
        self.array: Array = stored.view(like.dtype).reshape(like.shape)
        super().__init__(TensorBuffer.create_from_host_memory(stored).capsule)

    def get_tensor_details(self) -> dict[str, Any]:
        return describe_array(self.array)


def find_elements(buffer: Any) -> Array:
    """Return the elements of a TensorBuffer, as a copy unless it is an :class:`ArrayBuffer`."""
    if buffer.capsule is not None and isinstance(buffer, ArrayBuffer):  # ValueError if the buffer is destroyed
        return buffer.array
    details = buffer.get_tensor_details()
    elements: Array = buffer.read(int(np.prod(details["shape"])), details["dtype"])
    return elements.reshape(details["shape"])


def describe_array(array: Array) -> dict[str, Any]:
    return {"dtype": array.dtype.name, "shape": [*array.shape]}
