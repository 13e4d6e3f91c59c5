"""Channels that are zero whatever the input: found by interval arithmetic, and used.

Trained networks have them, most in their first layers, where a large negative bias stands before a RELU. What a filter
has for a silent channel, and the whole filter that makes one, may be anything: numbers there that do not fit into
signed bytes are struck out. Copies of other channels can take the place (:mod:`channels`).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from nnapi.codes import FuseCode
from nnapi.drivers.xnnpack.passes.signed_weights.channel_splitting import Outside, is_each_channel, is_plain, unsigned
from nnapi.formats.tflite.graph import Graph, Operator, Tensor
from nnapi.model.operand import Array

LARGEST = 2**12
"""Numbers of a filter beyond which no look is taken: sums of so many are never so sure."""
SLACK = 1e-3
"""Of a code, for the rounding of float32 multipliers."""

Bounds = tuple[Array, Array]
"""Least and greatest number of each channel, in codes above the zero point; zero is always between them."""


def silent(graph: Graph) -> dict[Tensor, Array]:
    """For tensors that have channels which are always zero: which these are, as booleans."""
    bounds: dict[Tensor, Bounds] = {}
    for operator in graph.operators:
        x, y = operator.inputs[0], operator.outputs[0]
        if x is not None and _is_looked_at(operator) and (operator.kind == "CONV_2D" or x in bounds):
            bounds[y] = _after(operator, bounds.get(x) or _any(x))
    silence = {tensor: (low == 0) & (high == 0) for tensor, (low, high) in bounds.items()}
    return {tensor: channels for tensor, channels in silence.items() if channels.any()}


def without_effect(graph: Graph, silence: Mapping[Tensor, Array], outside: Outside) -> Graph:
    """The graph with the numbers struck out that do not fit and that only silent channels see."""
    return Graph([_struck(operator, silence, outside) for operator in graph.operators], graph.inputs, graph.outputs)


def _struck(operator: Operator, silence: Mapping[Tensor, Array], outside: Outside) -> Operator:
    filter, x, y = unsigned(operator), operator.inputs[0], operator.outputs[0]
    if filter is None or not (x in silence or y in silence) or not (is_plain(operator) or is_each_channel(operator)):
        return operator
    if not len(outside[filter]):
        return operator
    assert x is not None
    assert filter.data is not None
    data = filter.data.copy()
    read, written = (silence.get(tensor, np.zeros(tensor.shape[3], bool)) for tensor in (x, y))
    if operator.kind == "CONV_2D":
        data[..., read] = data[written] = filter.zero_point
    else:
        data[..., read | written] = filter.zero_point
    inputs = [x, filter.like(data=data), *operator.inputs[2:]]
    return Operator(operator.kind, inputs, operator.outputs, operator.options)


def _is_looked_at(operator: Operator) -> bool:
    if not (is_plain(operator) or is_each_channel(operator)):
        return False
    x, filter, y = operator.inputs[0], operator.inputs[1], operator.outputs[0]
    assert x is not None
    assert filter is not None
    return x.type == y.type == "i8" and filter.type in ("i8", "u8") and filter.size <= LARGEST


def _any(tensor: Tensor) -> Bounds:
    """All that bytes can say."""
    low, high = -128 - tensor.zero_point, 127 - tensor.zero_point
    return np.full(tensor.shape[3], min(low, 0.0)), np.full(tensor.shape[3], max(high, 0.0))


def _after(operator: Operator, before: Bounds) -> Bounds:
    """Bounds of a convolution's output given those of its input; zero counts as possible, as it is what pads."""
    x, filter, bias = operator.inputs
    assert x is not None
    assert filter is not None
    assert filter.data is not None
    assert bias is not None
    assert bias.data is not None
    y = operator.outputs[0]
    is_dense, shape = operator.kind == "CONV_2D", filter.shape
    numbers = np.subtract(filter.data, filter.zero_point if filter.type == "u8" else 0, dtype=np.float64)
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
    floor, ceiling = _clamp(y, operator.options["activation"])
    low = np.ceil((least + bias.data) * factor - 0.5 - SLACK).clip(min(floor, 0), min(ceiling, 0))
    high = np.floor((greatest + bias.data) * factor + 0.5 + SLACK).clip(max(floor, 0), max(ceiling, 0))
    return low, high


def _clamp(tensor: Tensor, activation: int) -> tuple[int, int]:
    """The codes above the zero point that an activation lets through."""
    low, high = -128 - tensor.zero_point, 127 - tensor.zero_point
    if activation in (FuseCode.FUSED_RELU, FuseCode.FUSED_RELU6):
        low = max(low, 0)
    elif activation == FuseCode.FUSED_RELU1:
        low = max(low, round(-1 / tensor.unit))
    if activation != FuseCode.FUSED_RELU and activation != FuseCode.FUSED_NONE:
        high = min(high, round((1 if activation == FuseCode.FUSED_RELU1 else 6) / tensor.unit))
    return low, high
