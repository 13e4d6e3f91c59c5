"""Find channels that are zero for every input, by interval arithmetic. Their weights are cleared instead of split."""

from collections.abc import Mapping

import numpy as np

from nnapi.codes import FuseCode, OperandCode
from nnapi.drivers.xnnpack.passes.signed_weights.channel_splitting import Outliers
from nnapi.formats.tflite.convolutions import Conv
from nnapi.formats.tflite.graph import Graph, Operator, Tensor
from nnapi.model.operand import Array, OperandType
from nnapi.ops.quantized_values import quantized_range

LARGEST = 2**12
"""Maximum values of an examined filter. Bounds of larger sums are too wide to be of use."""
SLACK = 1e-3
"""Tolerance in LSB for the rounding of float32 multipliers."""

Bounds = tuple[Array, Array]
"""Minimum and maximum of each channel, less the zero point. The interval includes zero."""


def find_dead_channels(graph: Graph) -> dict[Tensor, Array]:
    """Return the dead channels, as booleans, of each tensor that has any."""
    bounds: dict[Tensor, Bounds] = {}
    for conv in map(Conv, graph.operators):
        if _is_looked_at(conv) and (not conv.is_depthwise or conv.input in bounds):
            bounds[conv.output] = _bound(conv, bounds.get(conv.input) or _bound_type(conv.input))
    dead = {tensor: (low == 0) & (high == 0) for tensor, (low, high) in bounds.items()}
    return {tensor: channels for tensor, channels in dead.items() if channels.any()}


def clear_weights(graph: Graph, outliers: Outliers) -> Graph:
    """Return the graph with zeros for weights of dead input or output channels, in filters with outliers."""
    dead = find_dead_channels(graph)
    return graph.with_operators([_clear_weights(operator, dead, outliers) for operator in graph.operators])


def _clear_weights(operator: Operator, dead: Mapping[Tensor, Array], outliers: Outliers) -> Operator:
    conv = Conv(operator)
    filter = conv.unsigned_filter
    if filter is None or not (conv.is_constant_dense or conv.is_constant_depthwise):
        return operator
    ends = conv.input, conv.output
    if dead.keys().isdisjoint(ends) or not len(outliers[filter]):
        return operator
    data = filter.value.copy()
    read, written = (dead.get(tensor, np.zeros(tensor.shape[3], bool)) for tensor in ends)
    if conv.is_depthwise:
        data[..., read | written] = filter.zero_point
    else:
        data[..., read] = data[written] = filter.zero_point
    return operator.like([conv.input, filter.like(data=data), *operator.inputs[2:]])


def _is_looked_at(conv: Conv) -> bool:
    if not (conv.is_constant_dense or conv.is_constant_depthwise):
        return False
    is_quantized = conv.input.type == conv.output.type == "i8" and conv.filter.type in ("i8", "u8")
    return is_quantized and conv.filter.size <= LARGEST


def _bound_type(tensor: Tensor) -> Bounds:
    low, high = -128 - tensor.zero_point, 127 - tensor.zero_point
    return np.full(tensor.shape[3], min(low, 0.0)), np.full(tensor.shape[3], max(high, 0.0))


def _bound(conv: Conv, before: Bounds) -> Bounds:
    """Return the bounds of a convolution's output from those of its input. Padding makes zero possible."""
    x, filter, bias, y = conv.input, conv.filter, conv.bias.value, conv.output
    is_dense, shape = not conv.is_depthwise, filter.shape
    numbers = np.subtract(filter.value, filter.zero_point if filter.type == "u8" else 0, dtype=np.float64)
    numbers = numbers.reshape(shape[0] if is_dense else 1, -1, shape[3])
    above, below = np.maximum(numbers, 0), np.minimum(numbers, 0)
    above, below = (np.add.reduce(each, 1) if numbers.shape[1] > 1 else each[:, 0] for each in (above, below))
    low, high = before
    if is_dense:
        least, greatest = above @ low + below @ high, above @ high + below @ low
    else:
        (above,), (below,) = above, below
        least, greatest = above * low + below * high, above * high + below * low
    factor = np.asarray(filter.scale, np.float64) * x.unit / y.unit
    floor, ceiling = _clamp(y, conv.options["activation"])
    low = np.ceil((least + bias) * factor - 0.5 - SLACK).clip(min(floor, 0), min(ceiling, 0))
    high = np.floor((greatest + bias) * factor + 0.5 + SLACK).clip(max(floor, 0), max(ceiling, 0))
    return low, high


def _clamp(tensor: Tensor, activation: int) -> tuple[int, int]:
    type = OperandType(OperandCode.TENSOR_QUANT8_ASYMM_SIGNED, (), tensor.unit, tensor.zero_point)
    lowest, highest = quantized_range(type, FuseCode(activation))
    return lowest - tensor.zero_point, highest - tensor.zero_point
