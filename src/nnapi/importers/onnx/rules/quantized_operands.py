"""Operands of quantized operations: inputs, filters and biases."""

import numpy as np

from nnapi.codes import OperandCode
from nnapi.importers.graph import INT32, QUANT8, Value
from nnapi.importers.onnx.node import OnnxNode
from nnapi.importers.onnx.tensors import FLOAT, OnnxTensor
from nnapi.model.memory import LARGE
from nnapi.model.operand import ChannelQuantization, OperandType

SIGNED = OperandCode.TENSOR_QUANT8_ASYMM_SIGNED
PER_CHANNEL = OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL


def is_quantized_float(tensor: OnnxTensor) -> bool:
    """Return whether a float tensor is stored as quantized values of one scale."""
    value = tensor.quantized if tensor.quantized is not None else tensor.value
    return tensor.elem == FLOAT and value is not None and value.type.code in (QUANT8, SIGNED)


def computes_quantized(node: OnnxNode, *indices: int) -> bool:
    """Return whether NNAPI can compute quantized: the result is quantized, and these inputs have its type code."""
    tensors = [node.tensor(i) for i in indices]
    if node.wanted is None or not all(is_quantized_float(tensor) for tensor in tensors):
        return False
    return {node.stored(i, of_constants=True).type.code for i in indices} == {node.wanted.code}


def filter_beside(node: OnnxNode, x: Value, i: int) -> Value | None:
    """Return constant input ``i`` in a quantized type that NNAPI accepts as the filter for ``x``, else None."""
    filter = node.tensor(i).quantized
    if filter is None or filter.array is None:
        return None
    type, shape = filter.type, filter.type.dimensions
    if type.channel or type.code == x.type.code:
        return filter
    if type.code == SIGNED and type.zero_point == 0:
        channel = ChannelQuantization(0, (type.scale,) * shape[0])
        return Value(OperandType(PER_CHANNEL, shape, channel=channel), filter.name, filter.array, filter.in_file)
    by = 128 if type.code == SIGNED else -128
    array = (filter.array.astype(np.int16) + by).astype(x.type.dtype)
    return Value(OperandType(x.type.code, shape, type.scale, type.zero_point + by), filter.name, array)


def reshape_and_transpose(value: Value, shape: tuple[int, ...], order: tuple[int, ...]) -> Value:
    """Reshape a constant filter, then transpose it."""
    array = value.constant.reshape(shape).transpose(order)
    in_file = value.in_file and array.nbytes >= LARGE
    array = array if in_file else np.ascontiguousarray(array)
    channel = value.type.channel
    if channel is not None:
        channel = ChannelQuantization(order.index(channel.dimension), channel.scales)
    type = OperandType(value.type.code, array.shape, value.type.scale, value.type.zero_point, channel)
    return Value(type, value.name, array, in_file)


def to_ohwi(filter: Value) -> Value:
    """Transpose a constant OIHW or OIW filter."""
    shape = filter.shape if filter.rank == 4 else (*filter.shape[:2], 1, filter.shape[2])
    return reshape_and_transpose(filter, shape, (0, 2, 3, 1))


def zeros(node: OnnxNode, x: Value, units: int) -> Value:
    """Return a bias of zeros for the product of ``x`` and a filter of ``units`` output channels."""
    return node.graph.full(OperandType(x.type.code, (units,)), name=f"{node.name}:bias")


def quantize_bias(node: OnnxNode, bias: OnnxTensor | None, x: Value, filter: Value) -> Value | None:
    """Return a bias as int32, in the scale of input times filter; zeros if omitted, None if computed."""
    units = filter.shape[0]
    channel = filter.type.channel
    scales = np.asarray(channel.scales if channel else filter.type.scale, np.float64) * x.type.scale
    type = OperandType(
        INT32, (units,), 0.0 if channel else float(np.float32(x.type.scale) * np.float32(filter.type.scale))
    )
    if bias is None:
        return node.graph.full(type, name=f"{node.name}:bias")
    array = bias.array
    if array is None or array.size not in (1, units):
        return None
    numbers = np.rint(np.broadcast_to(array.reshape(-1), (units,)).astype(np.float64) / scales)
    limits = np.iinfo(np.int32)
    return node.graph.constant(np.clip(numbers, limits.min, limits.max).astype(np.int32), type)
