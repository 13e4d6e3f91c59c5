"""The inputs and outputs of a session: checked and converted between the file's types and NNAPI's."""

from typing import Any

import numpy as np

from nnapi.model.operand import Array
from nnapi.onnx.failures import InvalidArgument
from nnapi.onnx.ort_value import OrtValue, type_of
from nnapi.onnx.session_file import DTYPE_OF, NodeArg, dtype_of

LIMITS = np.iinfo(np.int32)


class Input:
    """Reads the values of an input. Arrays that NNAPI stores as they are take the fast path."""

    def __init__(self, argument: NodeArg) -> None:
        self.name, self._argument = argument.name, argument
        self._sizes = [(axis, size) for axis, size in enumerate(argument.shape) if isinstance(size, int)]
        dtype = DTYPE_OF.get(argument.type)
        is_plain = dtype is not None and argument.is_ranked and argument.shape and not _is_converted(dtype)
        self._dtype, self._rank = dtype, len(argument.shape) if is_plain else -1

    def read(self, value: Any) -> Array:
        """Return a value as NNAPI stores it: 64-bit elements as 32-bit, with at least one dimension. Raise
        InvalidArgument if type or shape differ from the file's."""
        if isinstance(value, np.ndarray) and value.ndim == self._rank and value.dtype == self._dtype:
            shape = value.shape
            for axis, size in self._sizes:
                if shape[axis] != size:
                    break
            else:
                return value
        return self._convert(self._check(value))

    def _check(self, value: Any) -> Array:
        argument, dtype = self._argument, dtype_of(self._argument)
        if isinstance(value, OrtValue):
            value = value.view()
        is_array = isinstance(value, np.ndarray)
        array: Array = value if is_array else np.asarray(value, None if np.isscalar(value) else dtype)
        if array.dtype != dtype:
            raise InvalidArgument(f"{self.name} is of type {argument.type}, not {type_of(array.dtype)}")
        if argument.is_ranked and (
            array.ndim != len(argument.shape) or any(array.shape[axis] != size for axis, size in self._sizes)
        ):
            raise InvalidArgument(f"{self.name} is of shape {argument.shape}, not {list(array.shape)}")
        return array

    def _convert(self, array: Array) -> Array:
        if not array.shape:
            array = array.reshape(1)
        if not _is_converted(array.dtype):
            return array
        if array.dtype == np.float64:
            return array.astype(np.float32)
        if array.size and not (LIMITS.min <= int(array.min()) and int(array.max()) <= LIMITS.max):
            raise InvalidArgument(f"{self.name} holds integers beyond int32")
        return array.astype(np.int32)


def _is_converted(dtype: np.dtype[Any]) -> bool:
    return dtype == np.float64 or (dtype.kind in "iu" and dtype.itemsize != 1 and dtype != np.int32)


class Output:
    """Describes the results of an output as the file does: arrays, also of texts, or dictionaries by ``keys``."""

    def __init__(self, argument: NodeArg, keys: Any = None, texts: Array | None = None) -> None:
        self._argument, self._keys, self._texts = argument, keys, texts
        self._is_scalar = argument.is_ranked and not argument.shape
        self._is_plain = keys is None and texts is None and not self._is_scalar
        self._dtype = DTYPE_OF.get(argument.type)

    def describe(self, result: Array) -> Any:
        if self._is_plain and result.dtype == self._dtype:
            return result
        if self._texts is not None:
            return self._texts[result]
        if self._keys is not None:
            return [{key: row[column] for key, column in self._keys} for row in result.tolist()]
        dtype = dtype_of(self._argument)
        if dtype == np.bool_ and result.dtype == np.uint8:
            result = result.view(np.bool_)
        elif result.dtype != dtype:
            result = result.astype(dtype)
        return result.reshape(()) if self._is_scalar else result
