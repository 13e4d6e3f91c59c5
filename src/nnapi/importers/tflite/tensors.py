"""Operand types and stored values of a file's tensors."""

import math
from typing import Any

import numpy as np

from nnapi.codes import OperandCode as O
from nnapi.errors import BadDataError, NnapiError, need
from nnapi.formats.tflite.reader import Tensor
from nnapi.formats.tflite.sparse import expand
from nnapi.importers.graph import Value
from nnapi.importers.refusals import Refused, expressible
from nnapi.model.operand import ZERO_POINTS, Array, ChannelQuantization, OperandType, Shape

TYPES: dict[str, tuple[np.dtype[Any], O]] = {
    "FLOAT32": (np.dtype(np.float32), O.TENSOR_FLOAT32),
    "FLOAT16": (np.dtype(np.float16), O.TENSOR_FLOAT16),
    "INT32": (np.dtype(np.int32), O.TENSOR_INT32),
    "INT64": (np.dtype(np.int64), O.TENSOR_INT32),
    "UINT32": (np.dtype(np.uint32), O.TENSOR_INT32),
    "BOOL": (np.dtype(np.uint8), O.TENSOR_BOOL8),
    "UINT8": (np.dtype(np.uint8), O.TENSOR_QUANT8_ASYMM),
    "INT8": (np.dtype(np.int8), O.TENSOR_QUANT8_ASYMM_SIGNED),
    "INT16": (np.dtype(np.int16), O.TENSOR_QUANT16_SYMM),
    "INT4": (np.dtype(np.uint8), O.TENSOR_QUANT8_ASYMM_SIGNED),
}
"""Storage in the file and operand code of each type; two INT4 share a byte."""
COMPLEX = "COMPLEX64"
"""Complex numbers; the operand's last axis has the real and the imaginary part."""
MAKE_COMPLEX = frozenset({"RFFT2D", "RESHAPE", "SQUEEZE", "EXPAND_DIMS"})
"""Operators whose rules make complex tensors."""
READ_COMPLEX = MAKE_COMPLEX | {"CAST", "REAL", "IMAG", "COMPLEX_ABS"}
"""Operators whose rules read complex tensors."""
WIDE = ("INT64", "UINT32")
"""Integers that must fit int32."""
SPARSE = ("FLOAT32", "FLOAT16", "INT8")


def rank_of(tensor: Tensor) -> int:
    """Return the rank of a tensor's operand."""
    return len(tensor.shape) + (tensor.type == COMPLEX)


def operand_type(tensor: Tensor) -> OperandType:
    """Return the operand type of a tensor; raise Refused if NNAPI has none. INT64 and UINT32 become int32; a scalar
    gets shape [1]; 8-bit integers without a scale get scale 1 and zero point 0."""
    dimensions = tensor.shape or (1,)
    if tensor.type == COMPLEX:
        return OperandType(O.TENSOR_FLOAT32, (*dimensions, 2))
    if tensor.type not in TYPES:
        raise Refused(f"{tensor} is of type {tensor.type}, which NNAPI does not have")
    _, code = TYPES[tensor.type]
    if code not in ZERO_POINTS:
        return OperandType(code, dimensions)
    if tensor.blocks:
        raise Refused(f"{tensor} has a scale for each block of values, which NNAPI does not support")
    if len(tensor.scales) > 1:
        return _per_channel(tensor, dimensions)
    scale, zero_point = (tensor.scales or (1.0,))[0], (tensor.zero_points or (0,))[0]
    if code == O.TENSOR_QUANT16_SYMM:
        expressible(tensor.scales, f"{tensor} is of type INT16 without a scale")
        expressible(zero_point == 0, f"{tensor} is INT16 with zero point {zero_point}, must be 0")
    return OperandType(code, dimensions, scale, zero_point)


def _per_channel(tensor: Tensor, dimensions: Shape) -> OperandType:
    expressible(tensor.type in ("INT8", "INT4"), f"{tensor} is {tensor.type} with one scale per channel")
    expressible(not has_zero_points(tensor), f"{tensor} has a zero point per channel, NNAPI only scales")
    _need_fitting_scales(tensor, dimensions)
    channel = ChannelQuantization(tensor.axis, tuple(tensor.scales))
    return OperandType(O.TENSOR_QUANT8_SYMM_PER_CHANNEL, dimensions, channel=channel)


def has_zero_points(tensor: Tensor) -> bool:
    """Return whether a tensor has a scale for each channel, and zero points other than 0."""
    return len(tensor.scales) > 1 and bool(bytes(tensor.zero_points).strip(b"\0"))


def _need_fitting_scales(tensor: Tensor, dimensions: Shape) -> None:
    axis, count = tensor.axis, len(tensor.scales)
    fits = 0 <= axis < len(dimensions) and dimensions[axis] == count
    need(fits, f"{tensor} has {count} scales, which do not fit axis {axis} of {list(dimensions)}", BadDataError)


def read_constant(tensor: Tensor, content: memoryview) -> tuple[Array, bool]:
    """Return a constant as its operand type stores it, and whether it is a view of the file's content."""
    if tensor.region is None:
        raise BadDataError(f"{tensor} is neither an input nor a constant, and nothing writes it")
    expressible(tensor.type != COMPLEX, f"{tensor} is a constant of type {COMPLEX}, which NNAPI does not have")
    type, shape, (offset, have) = tensor.type, tensor.shape or (1,), tensor.region
    if tensor.sparsity:
        expressible(type in SPARSE, f"{tensor} is stored sparsely as {type}")
        dtype, _ = TYPES[type]
        values: Array = np.ndarray(have // dtype.itemsize, dtype, content, offset)
        return expand(tensor.sparsity, values, shape, str(tensor)), False
    stored = read_stored(tensor, content)
    if type == "INT4":
        return _nibbles(stored)[: math.prod(shape)].reshape(shape), False
    return (_as_int32(stored, str(tensor)), False) if type in WIDE else (stored, True)


def read_stored(tensor: Tensor, content: memoryview) -> Array:
    """Return a dense constant as the file stores it; INT4 values are unpacked, two from each byte."""
    assert tensor.region is not None
    (dtype, _), shape, (offset, have) = TYPES[tensor.type], tensor.shape or (1,), tensor.region
    if tensor.type == "INT4":
        shape = ((math.prod(shape) + 1) // 2,)
    length = math.prod(shape) * dtype.itemsize
    need(have == length, f"{tensor} holds {have} bytes, its type and shape take {length}", BadDataError)
    return np.ndarray(shape, dtype, content, offset)


def as_signed(value: Value) -> Value:
    """Return quantized 8-bit weights as signed values with zero point 0, in the same bytes; other values unchanged."""
    type = value.type
    if type.code not in (O.TENSOR_QUANT8_ASYMM, O.TENSOR_QUANT8_ASYMM_SIGNED) or type == type.replace(
        code=O.TENSOR_QUANT8_ASYMM_SIGNED, zero_point=0
    ):
        return value
    expressible(value.array is not None, f"{value.name} are computed weights of floats, of type {type}")
    signed = type.replace(code=O.TENSOR_QUANT8_ASYMM_SIGNED, zero_point=0)
    return Value(signed, value.name, value.constant.view(np.int8), value.in_file)


def as_real(values: Array, tensor: Tensor) -> Array:
    """Dequantize values whose zero point is 0, with one scale or one per channel."""
    scales = np.asarray(tensor.scales, np.float64)
    expressible(not bytes(tensor.zero_points).strip(b"\0"), f"{tensor} is {tensor.type} with a zero point")
    if scales.size > 1:
        _need_fitting_scales(tensor, values.shape)
        scales = scales.reshape([-1 if axis == tensor.axis else 1 for axis in range(values.ndim)])
    numbers: Array = values * scales
    return numbers


def dequantize_blocks(values: Array, scales: Array, size: int, name: str) -> Array:
    """Dequantize values that have one scale per block of ``size`` values along the last axis."""
    shape = (*values.shape[:-1], values.shape[-1] // size) if size > 0 and values.shape[-1] % size == 0 else None
    need(
        scales.shape == shape,
        f"{name} {list(values.shape)} has {list(scales.shape)} scales, each for {size}",
        BadDataError,
    )
    numbers = values.reshape(*scales.shape, size) * scales[..., None].astype(np.float32)
    return numbers.reshape(values.shape)


def _nibbles(packed: Array) -> Array:
    """Unpack signed 4-bit integers; the low 4 bits of each byte come first."""
    nibbles = np.stack([packed & 15, packed >> 4], -1).reshape(-1).astype(np.int8)
    return nibbles - ((nibbles & 8) << 1)


def _as_int32(array: Array, name: str) -> Array:
    narrow = array.astype(np.int32)
    expressible(np.array_equal(narrow, array), f"{name} holds integers beyond int32")
    return narrow


def placeholder(tensor: Tensor) -> Value:
    """Return a value for a tensor that is refused, so that refusals of later operators are found too."""
    try:
        return Value(operand_type(tensor), tensor.name)
    except (Refused, NnapiError):
        return Value(OperandType(O.TENSOR_FLOAT32, tensor.shape or (1,)), tensor.name)
