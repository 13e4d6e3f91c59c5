"""QuantizeLinear and DequantizeLinear, whose pairs disappear where an operation computes on quantized values."""

from __future__ import annotations

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import BadDataError, need
from nnapi.importers.arithmetic import divide, multiply, subtract
from nnapi.importers.graph import FLOAT32, FLOATS, INT32, QUANT8, Value
from nnapi.importers.onnx.fusion import type_of_codes
from nnapi.importers.onnx.layout import read_as_stored
from nnapi.importers.onnx.node import HIGHEST_RANK, Node
from nnapi.importers.onnx.rules import rule
from nnapi.importers.onnx.rules.arithmetic import nearest_integer
from nnapi.importers.onnx.rules.elementwise import as_bytes
from nnapi.importers.onnx.tensors import BYTES, CODES, FLOAT, Tensor, constant
from nnapi.importers.refusals import expressible
from nnapi.model.operand import Array, ChannelQuantization, OperandType, Shape

LIMITS = {2: (0, 255), 3: (-128, 127), 4: (0, 65535), 5: (-32768, 32767)}
"""Lowest and highest quantized value of UINT8, INT8, UINT16 and INT16."""


@rule("QuantizeLinear")
def quantize(node: Node) -> Tensor:
    """Codes that the operation before gives already are as wanted."""
    point = node.tensor(2) if node.has(2) else None
    elem = point.elem if point else int(node.attribute("output_dtype", 0)) or 2
    expressible(elem in LIMITS, "NNAPI quantizes to integers of 8 and 16 bits only")
    if elem not in BYTES:
        return _compute_codes(node, elem)
    type = type_of_codes(node.tensor(1), point)
    scale = node.tensor(1).array
    if scale is not None and not np.isfinite(scale).all():
        node.note(f"{node.tensor(1).name}, the scale of QuantizeLinear {node.name}, is not finite")
    if type is not None and point is None:
        type = OperandType(CODES[elem], (), type.scale, 0)
    if type is None:
        return _compute_codes(node, elem)
    value, _, is_nhwc = read_as_stored(node, 0)
    return node.result(quantize_to(node, value, type), node.shape(0), elem=elem, is_nhwc=is_nhwc)


def quantize_to(node: Node, value: Value, type: OperandType) -> Value:
    """Quantize a value to a type; a value of that type is returned unchanged."""
    if (value.type.code, value.type.scale, value.type.zero_point) == (type.code, type.scale, type.zero_point):
        return value
    return node.apply(OperationCode.QUANTIZE, node.graph.real(value), type=type)


def _compute_codes(node: Node, elem: int) -> Tensor:
    """Quantize by arithmetic, for scales that are computed or one for each index along an axis."""
    shape = node.shape(0)
    x = node.input(0)
    expressible(x.type.code in FLOATS, "NNAPI quantizes floats only")
    scale, point = (_along(node, i, shape) for i in (1, 2))
    codes = nearest_integer(node, divide(node, x, node.cast(scale, x.type.code)))
    if node.has(2):
        codes = node.apply(OperationCode.ADD, codes, node.cast(whole_numbers(node, point), x.type.code), node.i32(0))
    low, high = LIMITS[elem]
    codes = node.apply(OperationCode.MAXIMUM, codes, node.like(codes, low))
    codes = node.apply(OperationCode.MINIMUM, codes, node.like(codes, high))
    whole = node.cast(codes, INT32)
    return node.result(as_bytes(node, whole, OperandType(CODES[elem])) if elem in BYTES else whole, shape, elem=elem)


def whole_numbers(node: Node, value: Value) -> Value:
    """Bytes as int32."""
    if value.type.code == INT32 or value.type.code in FLOATS:
        return value
    if value.type.code == QUANT8:
        return node.apply(OperationCode.CAST, value, type=OperandType(INT32))
    real = node.apply(OperationCode.DEQUANTIZE, node.bare(value), type=OperandType(FLOAT32))
    return node.apply(OperationCode.CAST, real, type=OperandType(INT32))


def _along(node: Node, i: int, shape: Shape) -> Value:
    """A scale or zero point as it stretches to the input."""
    if not node.has(i):
        return node.graph.no_value()
    own = node.shape(i)
    expressible(not node.attribute("block_size", 0), "it has a scale for each block")
    value = node.codes(i)
    if len(own) == 1 and own != (1,):
        axis = node.axis(int(node.attribute("axis", 1)), len(shape))
        need(own[0] == shape[axis], f"{own[0]} scales for axis {axis} of {list(shape)}", BadDataError)
        return node.view(value, [own[0] if k == axis else 1 for k in range(len(shape))])
    expressible(len(own) <= 1, "its scales have several axes")
    return node.view(value, (1,))


@rule("DequantizeLinear")
def dequantize(node: Node) -> Tensor:
    """Lower DequantizeLinear; values stay quantized until an operation reads float values."""
    tensor = node.tensor(0)
    point = node.tensor(2) if node.has(2) else None
    if tensor.array is not None:
        return _constant_numbers(node, tensor.array, point)
    type = type_of_codes(
        node.tensor(1), point or constant("zero", np.zeros((), np.uint8 if tensor.elem == 2 else np.int8))
    )
    value, _, is_nhwc = read_as_stored(node, 0)
    if type is not None and type.code == value.type.code:
        typed = _as_codes(node, value, type)
        if typed is not None:
            return node.result(typed, node.shape(0), elem=FLOAT, is_nhwc=is_nhwc)
    return _compute_numbers(node)


def _as_codes(node: Node, value: Value, type: OperandType) -> Value | None:
    """Return the value with a quantized type: it has that type, or it is an input that nothing has read. Else return
    None."""
    if (value.type.scale, value.type.zero_point) == (type.scale, type.zero_point):
        return value
    plain = (value.type.scale, value.type.zero_point) == (1.0, 0)
    if plain and value not in node.graph.written and not node.conversion.is_read(value):
        value.type = type.with_dimensions(value.type.dimensions)
        return value
    return None


def _compute_numbers(node: Node) -> Tensor:
    """Dequantize by arithmetic: (quantized value - zero point) · scale."""
    shape = node.shape(0)
    expressible(len(shape) <= HIGHEST_RANK, f"its rank is {len(shape)}")
    codes = whole_numbers(node, node.codes(0))
    if node.has(2):
        codes = subtract(node, codes, whole_numbers(node, _along(node, 2, shape)))
    scale = _along(node, 1, shape)
    return node.result(multiply(node, node.cast(codes, scale.type.code), scale), shape)


def _constant_numbers(node: Node, codes: Array, point: Tensor | None) -> Tensor:
    """Return a constant with its float values and its quantized values, for operations on either."""
    expressible(not node.attribute("block_size", 0) and node.array(1).ndim <= 1, "it has a scale for each block")
    scales, axis = node.array(1), 0
    lying = [1] * codes.ndim
    if scales.size > 1:
        axis = node.axis(int(node.attribute("axis", 1)), codes.ndim)
        need(scales.size == codes.shape[axis], f"{scales.size} scales for {list(codes.shape)}", BadDataError)
        lying[axis] = -1
    points = node.array(2) if point else np.zeros(1, codes.dtype)
    whole = codes.astype(np.int64) - points.astype(np.int64).reshape(lying if points.size > 1 else [1] * codes.ndim)
    node.graph.reserve(4 * codes.size)
    numbers = whole.astype(np.float32) * scales.astype(np.float32).reshape(lying)
    tensor = constant(node.name, np.asarray(numbers, scales.dtype))
    if codes.dtype.itemsize == 1 and codes.size:
        tensor.codes = _constant_codes(node, codes, scales.reshape(-1), points.reshape(-1), axis)
    return tensor


def _constant_codes(node: Node, codes: Array, scales: Array, points: Array, axis: int) -> Value | None:
    if not (np.isfinite(scales).all() and (scales > 0).all()):
        return None
    shape = codes.shape or (1,)
    signed = codes.dtype == np.int8
    if scales.size > 1:
        middle = 0 if signed else 128
        if (points != middle).any():
            return None
        array = codes if signed else (codes.astype(np.int16) - 128).astype(np.int8)
        channel = ChannelQuantization(axis, tuple(float(each) for each in scales))
        type = OperandType(OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL, shape, channel=channel)
    else:
        array = codes
        code = OperandCode.TENSOR_QUANT8_ASYMM_SIGNED if signed else QUANT8
        type = OperandType(code, shape, float(scales[0]), int(points[0]))
    return Value(type, node.name, np.ascontiguousarray(array).reshape(shape))
