"""Compute two adjacent pixels as one in convolutions with few output channels, as the engine computes whole tiles."""

import numpy as np

from nnapi.drivers.xnnpack.passes import cost_model
from nnapi.formats.tflite.convolutions import Conv
from nnapi.formats.tflite.graph import Graph, Operator, constant
from nnapi.model.operand import Array


def move_width_to_depth(graph: Graph) -> Graph:
    """Return the graph with convolutions to few channels rewritten, if their filters are signed."""
    return graph.rewrite(lambda operator: _make_pairs(Conv(operator)) if _gains(Conv(operator)) else None)


def _gains(conv: Conv) -> bool:
    """Return whether an operator has an even width and few channels, and is faster in pairs."""
    if not conv.is_constant_dense and not conv.is_constant_depthwise:
        return False
    filter, options, shape = conv.filter, conv.options, conv.output.shape
    is_near = options["dilation_h"] == options["dilation_w"] == 1
    if filter.type != "i8" or not is_near or shape[2] % 2 or 2 * shape[3] > cost_model.TILE:
        return False
    estimate = cost_model.estimate_depthwise if conv.is_depthwise else cost_model.estimate_dense
    taps = filter.shape[1] * (filter.shape[2] + options["stride_w"])
    return cost_model.estimate_pairs(conv.operator, taps) < estimate(conv.operator)


def _make_pairs(conv: Conv) -> list[Operator]:
    filter, bias, y = conv.filter, conv.bias, conv.output
    batches, height, width, depth = y.shape
    pairs = y.like(shape=(batches, height, width // 2, 2 * depth))
    step, biases = conv.options["stride_w"], np.tile(bias.value, 2)
    numbers = _repeat_moved(_make_dense(conv), step)
    weights = filter.like(shape=numbers.shape, scale=np.tile(filter.scale, 2), axis=0, data=numbers)
    offsets = bias.like(shape=biases.shape, scale=np.tile(bias.scale, 2), data=biases)
    options = {name: value for name, value in conv.options.items() if name != "multiplier"}
    return [
        Operator("CONV_2D", [conv.input, weights, offsets], [pairs], options | {"stride_w": 2 * step}),
        Operator("RESHAPE", [pairs, constant(y.shape)], [y]),
    ]


def _repeat_moved(numbers: Array, step: int) -> Array:
    """Stack a dense filter and a copy of it that is moved by ``step`` pixels."""
    units, height, width, depth = numbers.shape
    both = np.zeros((2, units, height, width + step, depth), np.int8)
    both[0, :, :, :width] = both[1, :, :, step:] = numbers
    return both.reshape(-1, *both.shape[2:])


def _make_dense(conv: Conv) -> Array:
    """Return a filter's values as a dense filter [output channels, height, width, input channels]."""
    filter = conv.filter
    if not conv.is_depthwise:
        return filter.value
    depth = filter.shape[3]
    numbers = np.zeros((depth, *filter.shape[1:]), np.int8)
    numbers[range(depth), ..., range(depth)] = filter.value[0].transpose(2, 0, 1)
    return numbers
