"""Arrays of a program as NNAPI stores them, and results as an ONNX file describes them."""

from typing import Any

import numpy as np

from nnapi.model.operand import Array, Shape
from nnapi.onnx.failures import InvalidArgument
from nnapi.onnx.ort_value import OrtValue, type_of
from nnapi.onnx.session_file import NodeArg, dtype_of

LIMITS = np.iinfo(np.int32)


def check_input(end: NodeArg, value: Any) -> Array:
    """Return an input as an array of the file's type; raise InvalidArgument where type or shape differ."""
    dtype = dtype_of(end)
    if isinstance(value, OrtValue):
        value = value.view()
    array: Array = value if isinstance(value, np.ndarray) else np.asarray(value, None if np.isscalar(value) else dtype)
    if array.dtype != dtype:
        raise InvalidArgument(f"{end.name} is of type {end.type}, not {type_of(array.dtype)}")
    shape = [have if isinstance(want, int) else want for have, want in zip(array.shape, end.shape, strict=False)]
    if end.is_ranked and (array.ndim != len(end.shape) or shape != end.shape):
        raise InvalidArgument(f"{end.name} is of shape {end.shape}, not {list(array.shape)}")
    return array


def static_shape(end: NodeArg) -> Shape:
    """Return the shape in NNAPI, where a scalar is one element."""
    return tuple(size for size in end.shape if isinstance(size, int)) or (1,)


def dynamic_shape(end: NodeArg) -> Shape:
    """Return the shape in NNAPI, with 0 for dynamic dimensions."""
    return tuple(size if isinstance(size, int) else 0 for size in end.shape) or (1,)


def as_stored(array: Array) -> Array:
    """Return an array in NNAPI's types: 32 bits for 64, at least one dimension."""
    if not array.shape:
        array = array.reshape(1)
    if array.dtype == np.float64:
        return array.astype(np.float32)
    if array.dtype.kind in "iu" and array.dtype.itemsize != 1 and array.dtype != np.int32:
        if array.size and not (LIMITS.min <= int(array.min()) and int(array.max()) <= LIMITS.max):
            raise InvalidArgument("an input exceeds 32 bits")
        return array.astype(np.int32)
    return array


def as_described(result: Array, end: NodeArg) -> Array:
    dtype = dtype_of(end)
    if dtype == np.bool_ and result.dtype == np.uint8:
        result = result.view(np.bool_)
    elif result.dtype != dtype:
        result = result.astype(dtype)
    return result.reshape(()) if end.is_ranked and not end.shape else result
