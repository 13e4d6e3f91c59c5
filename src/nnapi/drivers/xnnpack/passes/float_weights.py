"""Dequantize weights with a float input if that is faster: else the engine quantizes the input by rows."""

from collections.abc import Callable

import numpy as np

from nnapi.drivers.xnnpack.passes import cost_model
from nnapi.formats.tflite.graph import Graph, Operator, Tensor
from nnapi.formats.tflite.operators import row_of


def is_dynamic_range(operator: Operator) -> bool:
    """Return whether an operator multiplies a float input by constant quantized weights."""
    return bool(row_of(operator.kind).weights) and operator.input(0).type == "f32" and bool(_find_quantized(operator))


def _find_quantized(operator: Operator) -> list[Tensor]:
    weights = [operator.inputs[position] for position in row_of(operator.kind).weights]
    return [each for each in weights if each is not None and each.type == "i8" and each.data is not None]


def use_float_weights(graph: Graph) -> Graph:
    """Return the graph with all weights of dynamic-range operators dequantized."""
    return _rewrite(graph, is_dynamic_range)


def use_faster_weights(graph: Graph) -> Graph:
    """Return the graph with weights dequantized if timings predict a gain. Cells must have been decomposed before."""
    if not any(map(is_dynamic_range, graph.operators)) or not cost_model.current_timings().is_measured:
        return graph
    return _rewrite(graph, lambda each: is_dynamic_range(each) and cost_model.estimate_dynamic_range(each) > 0)


def _rewrite(graph: Graph, is_chosen: Callable[[Operator], bool]) -> Graph:
    numbers: dict[Tensor, Tensor] = {}

    def dequantize(operator: Operator) -> list[Operator] | None:
        if not is_chosen(operator):
            return None
        weights = [each for each in _find_quantized(operator) if each not in numbers]
        numbers.update({each: dequantize_constant(each) for each in weights})
        return [operator.like([x and numbers.get(x, x) for x in operator.inputs])]

    return graph.rewrite(dequantize)


def dequantize_constant(tensor: Tensor) -> Tensor:
    """Dequantize a constant with one scale, or one scale per slice along its axis."""
    scales = np.asarray(tensor.scale, np.float32)
    shape = [-1 if index == tensor.axis else 1 for index in range(len(tensor.shape))]
    factors = scales.reshape(shape) if scales.ndim else scales
    values = (tensor.value.astype(np.float32) - np.float32(tensor.zero_point)) * factors
    return tensor.like(type="f32", scale=0.0, zero_point=0, axis=0, data=values)


def dequantize_bias(bias: Tensor) -> Tensor:
    """Dequantize a bias in float64, as its values may need more bits than float32 has."""
    values = (bias.value * np.asarray(bias.scale, np.float64)).astype(np.float32)
    return bias.like(type="f32", scale=0.0, axis=0, data=values)
