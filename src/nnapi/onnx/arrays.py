"""Arrays of a program as NNAPI stores them, and results as an ONNX file describes them."""

from typing import Any

import numpy as np

from nnapi.model.operand import Array, Shape
from nnapi.onnx.failures import InvalidArgument
from nnapi.onnx.ort_value import OrtValue, type_of
from nnapi.onnx.session_file import NodeArg, dtype_of

LIMITS = np.iinfo(np.int32)


def check_input(argument: NodeArg, value: Any) -> Array:
    """Return an input as an array of the file's type; raise InvalidArgument where type or shape differ."""
    dtype = dtype_of(argument)
    if isinstance(value, OrtValue):
        value = value.view()
    array: Array = value if isinstance(value, np.ndarray) else np.asarray(value, None if np.isscalar(value) else dtype)
    if array.dtype != dtype:
        raise InvalidArgument(f"{argument.name} is of type {argument.type}, not {type_of(array.dtype)}")
    shape = [have if isinstance(want, int) else want for have, want in zip(array.shape, argument.shape, strict=False)]
    if argument.is_ranked and (array.ndim != len(argument.shape) or shape != argument.shape):
        raise InvalidArgument(f"{argument.name} is of shape {argument.shape}, not {list(array.shape)}")
    return array


def static_shape(argument: NodeArg) -> Shape:
    """Return the shape in NNAPI, where a scalar is one element."""
    return tuple(size for size in argument.shape if isinstance(size, int)) or (1,)


def dynamic_shape(argument: NodeArg) -> Shape:
    """Return the shape in NNAPI, with 0 for dynamic dimensions."""
    return tuple(size if isinstance(size, int) else 0 for size in argument.shape) or (1,)


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


def as_described(result: Array, argument: NodeArg) -> Array:
    dtype = dtype_of(argument)
    if dtype == np.bool_ and result.dtype == np.uint8:
        result = result.view(np.bool_)
    elif result.dtype != dtype:
        result = result.astype(dtype)
    return result.reshape(()) if argument.is_ranked and not argument.shape else result
