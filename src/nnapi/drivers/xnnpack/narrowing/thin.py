"""Depthwise filters of at most half a tile of channels: computed as dense ones, on two pixels as one.

The engine's depthwise kernels take as long for eight channels as for sixteen. Seen as pairs of pixels in a row, without
moving anything, eight channels are sixteen; the filter for them has a number for each pair of channels, most of them
zero, and the kernels for dense filters are twice as fast in spite of that.
"""

from __future__ import annotations

import numpy as np

from nnapi.drivers.xnnpack.graph import Graph, Operator, Tensor, constant
from nnapi.drivers.xnnpack.narrowing import estimates
from nnapi.drivers.xnnpack.narrowing.filters import is_each_channel
from nnapi.drivers.xnnpack.schema import SAME
from nnapi.model.operand import Array

WIDTH = 3
"""Pairs that a filter of three or of five pixels sees."""


def thickened(graph: Graph) -> Graph:
    """The same graph with such operators, where their filters are signed, rewritten."""
    chosen = [operator for operator in graph.operators if _gains(operator)]
    if not chosen:
        return graph
    operators: list[Operator] = []
    for operator in graph.operators:
        operators += _on_pairs(operator) if operator in chosen else [operator]
    return Graph(operators, graph.inputs, graph.outputs)


def _gains(operator: Operator) -> bool:
    """Whether an operator is of that kind, keeps the extents of its image, and is faster so."""
    if not is_each_channel(operator):
        return False
    x, filter, options = operator.inputs[0], operator.inputs[1], operator.options
    assert x is not None
    assert filter is not None
    steps = {options[name] for name in ("stride_h", "stride_w", "dilation_h", "dilation_w")}
    is_even = x.shape[2] % 2 == 0 and filter.shape[2] in (3, 5) and steps == {1} and options["padding"] == SAME
    if not is_even or filter.type != "i8" or 2 * x.shape[3] > estimates.TILE:
        return False
    return estimates.on_pairs(operator, filter.shape[1] * WIDTH) < estimates.each_channel(operator)


def _on_pairs(operator: Operator) -> list[Operator]:
    x, filter, bias = operator.inputs
    y = operator.outputs[0]
    assert x is not None
    assert filter is not None
    assert bias is not None
    assert bias.data is not None
    batches, height, width, depth = x.shape
    pairs = (batches, height, width // 2, 2 * depth)
    read, written = x.like(shape=pairs), y.like(shape=pairs)
    data, twice = _dense(filter), np.tile(bias.data, 2)
    weights = filter.like(shape=data.shape, scale=np.tile(filter.scale, 2), axis=0, data=data)
    offsets = bias.like(shape=twice.shape, scale=np.tile(bias.scale, 2), data=twice)
    options = {name: value for name, value in operator.options.items() if name != "multiplier"}
    return [
        Operator("RESHAPE", [x, constant(pairs)], [read]),
        Operator("CONV_2D", [read, weights, offsets], [written], options),
        Operator("RESHAPE", [written, constant(y.shape)], [y]),
    ]


def _dense(filter: Tensor) -> Array:
    """The filter [1, height, width, channels] for pairs, [2 channels, height, 3, 2 channels]."""
    assert filter.data is not None
    _, height, width, depth = filter.shape
    result = np.zeros((2, depth, height, WIDTH, 2, depth), np.int8)
    channels = np.arange(depth)
    for second in (0, 1):
        for column in range(width):
            pair, other = divmod(second + column - width // 2, 2)
            result[second, channels, :, pair + 1, other, channels] = filter.data[0, :, column].T
    return result.reshape(2 * depth, height, WIDTH, 2 * depth)
