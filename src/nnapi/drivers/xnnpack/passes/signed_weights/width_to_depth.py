"""Convolutions that make at most half a tile of channels: computed for two pixels as one.

The engine takes as long for eight channels as for sixteen, so two neighbouring pixels of eight are made as one pixel of
sixteen, which has the same bytes. The filter for them is the filter twice, moved by a step. A depthwise filter becomes
a dense one first, most of it zero: the kernels for dense filters are twice as fast in spite of that.
"""

from __future__ import annotations

import numpy as np

from nnapi.drivers.xnnpack.passes.signed_weights import cost_model
from nnapi.drivers.xnnpack.passes.signed_weights.channel_splitting import is_each_channel, is_plain
from nnapi.formats.tflite.graph import Graph, Operator, Tensor, constant
from nnapi.model.operand import Array


def thickened(graph: Graph) -> Graph:
    """The same graph with such operators, where their filters are signed, rewritten."""
    chosen = {operator for operator in graph.operators if _gains(operator)}
    if not chosen:
        return graph
    operators: list[Operator] = []
    for operator in graph.operators:
        operators += _in_twos(operator) if operator in chosen else [operator]
    return Graph(operators, graph.inputs, graph.outputs)


def _gains(operator: Operator) -> bool:
    """Whether an operator is of that kind, makes an even number of pixels in a row, and is faster so."""
    is_dense = is_plain(operator)
    if not is_dense and not is_each_channel(operator):
        return False
    filter, options, y = operator.inputs[1], operator.options, operator.outputs[0]
    assert filter is not None
    is_near = options["dilation_h"] == options["dilation_w"] == 1
    if filter.type != "i8" or not is_near or y.shape[2] % 2 or 2 * y.shape[3] > cost_model.TILE:
        return False
    before = cost_model.summing(operator) if is_dense else cost_model.each_channel(operator)
    return cost_model.in_twos(operator, filter.shape[1] * (filter.shape[2] + options["stride_w"])) < before


def _in_twos(operator: Operator) -> list[Operator]:
    x, filter, bias = operator.inputs
    y = operator.outputs[0]
    assert filter is not None
    assert bias is not None
    assert bias.data is not None
    batches, height, width, depth = y.shape
    twos = y.like(shape=(batches, height, width // 2, 2 * depth))
    step, biases = operator.options["stride_w"], np.tile(bias.data, 2)
    numbers = _moved(_dense(operator.kind, filter), step)
    weights = filter.like(shape=numbers.shape, scale=np.tile(filter.scale, 2), axis=0, data=numbers)
    offsets = bias.like(shape=biases.shape, scale=np.tile(bias.scale, 2), data=biases)
    options = {name: value for name, value in operator.options.items() if name != "multiplier"}
    return [
        Operator("CONV_2D", [x, weights, offsets], [twos], options | {"stride_w": 2 * step}),
        Operator("RESHAPE", [twos, constant(y.shape)], [y]),
    ]


def _moved(numbers: Array, step: int) -> Array:
    """A dense filter for a pixel, and behind it the one for the next pixel."""
    units, height, width, depth = numbers.shape
    both = np.zeros((2, units, height, width + step, depth), np.int8)
    both[0, :, :, :width] = both[1, :, :, step:] = numbers
    return both.reshape(-1, *both.shape[2:])


def _dense(kind: str, filter: Tensor) -> Array:
    """The numbers [channels, height, width, channels] of a filter."""
    assert filter.data is not None
    if kind == "CONV_2D":
        return filter.data
    depth = filter.shape[3]
    numbers = np.zeros((depth, *filter.shape[1:]), np.int8)
    numbers[range(depth), ..., range(depth)] = filter.data[0].transpose(2, 0, 1)
    return numbers
