"""Cast, QuantizeLinear and DequantizeLinear; pairs of the last two disappear around quantized operations."""

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.importers.graph import INT32, QUANT8, Value
from nnapi.importers.onnx.fusion import quantized_type
from nnapi.importers.onnx.layout import read_as_stored, real_input
from nnapi.importers.onnx.narrowing import narrow
from nnapi.importers.onnx.node import WIDEST_RANK, OnnxNode
from nnapi.importers.onnx.operators import rule
from nnapi.importers.onnx.rules.matmul_blockwise import dequantize_blocks
from nnapi.importers.onnx.tensors import (
    BYTES,
    CODES,
    DTYPES,
    FLOAT,
    INT8,
    INT16,
    NARROWED,
    UINT8,
    UINT16,
    OnnxTensor,
    code_of,
    constant,
)
from nnapi.importers.refusals import expressible
from nnapi.importers.terms import Term, nearest_integer
from nnapi.model.operand import Array, ChannelQuantization, OperandType, Shape

LIMITS = {UINT8: (0, 255), INT8: (-128, 127), UINT16: (0, 65535), INT16: (-32768, 32767)}


@rule("QuantizeLinear")
def quantize(node: OnnxNode) -> OnnxTensor:
    point = node.given(2)
    elem = point.elem if point else int(node.attribute("output_dtype") or UINT8)
    expressible(elem in LIMITS, "NNAPI quantizes to integers of 8 and 16 bits only")
    _note_infinite_scale(node)
    if elem not in BYTES:
        return _quantize_by_arithmetic(node, elem)
    type = quantized_type(node.tensor(1), point)
    if type is not None and point is None:
        type = OperandType(CODES[elem], (), type.scale, 0)
    if type is None:
        return _quantize_by_arithmetic(node, elem)
    value, _, is_nhwc = read_as_stored(node, 0)
    return node.result(quantize_to(node, value, type), node.shape(0), elem=elem, is_nhwc=is_nhwc)


def _note_infinite_scale(node: OnnxNode) -> None:
    scale = node.tensor(1)
    if scale.array is not None and not np.isfinite(scale.array).all():
        node.note(f"{scale.name}, the scale of {node.kind} {node.name}, is not finite")


def quantize_to(node: OnnxNode, value: Value, type: OperandType) -> Value:
    """Quantize a value, unless it already has the type."""
    if (value.type.code, value.type.scale, value.type.zero_point) == (type.code, type.scale, type.zero_point):
        return value
    quantized = node.temporary(type.with_dimensions(value.shape))
    node.graph.quantize(node.graph.real(value), quantized)
    return quantized


def _quantize_by_arithmetic(node: OnnxNode, elem: int) -> OnnxTensor:
    shape = node.shape(0)
    x = Term(node, node.input(0))
    code = x.value.type.code
    expressible(x.value.is_float, "NNAPI quantizes floats only")
    scale, point = (_along(node, i, shape) for i in (1, 2))
    quantized = nearest_integer(x / Term(node, node.cast(scale, code)))
    if node.has(2):
        quantized = quantized + Term(node, node.cast(as_int32(node, point), code))
    low, high = LIMITS[elem]
    clipped = quantized.apply(OperationCode.MAXIMUM, low).apply(OperationCode.MINIMUM, high)
    return node.result(node.cast(clipped.value, CODES[elem]), shape, elem=elem)


def as_int32(node: OnnxNode, value: Value) -> Value:
    return value if value.is_float else node.cast(value, INT32)


def _along(node: OnnxNode, i: int, shape: Shape) -> Value:
    """Return the scale or zero point in input ``i``, in a shape that broadcasts to the shape of input 0."""
    if not node.has(i):
        return node.graph.no_value()
    own = node.shape(i)
    expressible(not node.attribute("block_size"), "it has a scale for each block, NNAPI for each tensor or channel")
    value = node.stored(i)
    if len(own) == 1 and own != (1,):
        axis = node.axis(int(node.attribute("axis", 1)), len(shape))
        expressible(
            own[0] == shape[axis], f"it has {own[0]} scales, axis {axis} of shape {list(shape)} needs {shape[axis]}"
        )
        return node.view(value, [own[0] if k == axis else 1 for k in range(len(shape))])
    expressible(len(own) <= 1, "its scales have several axes")
    return node.view(value, (1,))


@rule("DequantizeLinear")
def dequantize(node: OnnxNode) -> OnnxTensor:
    """Lower DequantizeLinear; values stay quantized until an operation reads float values."""
    tensor, point = node.tensor(0), node.given(2)
    _note_infinite_scale(node)
    if tensor.array is not None:
        return _dequantize_constant(node, tensor.array, point)
    zero = point or constant("zero", np.zeros((), np.uint8 if tensor.elem == UINT8 else np.int8))
    type = quantized_type(node.tensor(1), zero)
    value, _, is_nhwc = read_as_stored(node, 0)
    typed = _as_quantized(node, value, type) if type is not None and type.code == value.type.code else None
    if typed is None:
        return _dequantize_by_arithmetic(node)
    return node.result(typed, node.shape(0), elem=FLOAT, is_nhwc=is_nhwc)


def _as_quantized(node: OnnxNode, value: Value, type: OperandType) -> Value | None:
    """Return the value in a quantized type if it has the type's scale, or is an unread input; else None."""
    if (value.type.scale, value.type.zero_point) == (type.scale, type.zero_point):
        return value
    plain = (value.type.scale, value.type.zero_point) == (1.0, 0)
    if plain and value not in node.graph.written and not node.conversion.is_read(value):
        value.type = type.with_dimensions(value.type.dimensions)
        return value
    return None


def _dequantize_by_arithmetic(node: OnnxNode) -> OnnxTensor:
    shape = node.shape(0)
    expressible(len(shape) <= WIDEST_RANK, f"its input has rank {len(shape)}, operations at most {WIDEST_RANK}")
    whole = Term(node, as_int32(node, node.view(node.stored(0), shape)))
    if node.has(2):
        whole = whole - Term(node, as_int32(node, _along(node, 2, shape)))
    scale = Term(node, _along(node, 1, shape))
    real = Term(node, node.cast(whole.value, scale.value.type.code))
    return node.result((real * scale).value, shape)


def _dequantize_constant(node: OnnxNode, values: Array, point: OnnxTensor | None) -> OnnxTensor:
    """Return a constant that has both its float values and its quantized values."""
    if node.attribute("block_size"):
        return dequantize_blocks(node, values, None if point is None else point.constant)
    expressible(node.array(1).ndim <= 1, "its scales have several axes")
    scales, axis = node.array(1), 0
    lying = [1] * values.ndim
    if scales.size > 1:
        axis = node.axis(int(node.attribute("axis", 1)), values.ndim)
        expressible(scales.size == values.shape[axis], f"{scales.size} scales for {list(values.shape)}")
        lying[axis] = -1
    points = node.array(2) if point else np.zeros(1, values.dtype)
    whole = values.astype(np.int64) - points.astype(np.int64).reshape(lying)
    node.graph.reserve(4 * values.size)
    numbers = whole.astype(np.float32) * scales.astype(np.float32).reshape(lying)
    tensor = constant(node.name, np.asarray(numbers, scales.dtype))
    if values.dtype.itemsize == 1 and values.size:
        tensor.quantized = _quantized_constant(node, values, scales.reshape(-1), points.reshape(-1), axis)
    return tensor


def _quantized_constant(node: OnnxNode, values: Array, scales: Array, points: Array, axis: int) -> Value | None:
    if not (np.isfinite(scales).all() and (scales > 0).all()):
        return None
    shape = values.shape or (1,)
    signed = values.dtype == np.int8
    if scales.size > 1:
        middle = 0 if signed else 128
        if (points != middle).any():
            return None
        array = values if signed else (values.astype(np.int16) - 128).astype(np.int8)
        channel = ChannelQuantization(axis, tuple(float(each) for each in scales))
        type = OperandType(OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL, shape, channel=channel)
    else:
        array = values
        code = OperandCode.TENSOR_QUANT8_ASYMM_SIGNED if signed else QUANT8
        type = OperandType(code, shape, float(scales[0]), int(points[0]))
    return Value(type, node.name, np.ascontiguousarray(array).reshape(shape))


@rule("Cast")
def cast(node: OnnxNode) -> OnnxTensor:
    elem, source = int(node.attribute("to")), node.tensor(0).elem
    target = code_of(elem, node.name)
    x, layout = real_input(node)
    if elem in NARROWED and source not in NARROWED:
        node.note(f"a cast to {DTYPES[elem].name} gives {OperandType(target).name}")
    if x.type.code == target:
        return layout.result(node, x if elem == source else narrow(node, x, elem), elem)
    if elem in BYTES and x.is_float:
        x = node.cast(x, INT32)  # ONNX Runtime keeps the lowest bits of floats, too
    return layout.result(node, node.cast(x, target), elem)
