"""Dequantize weights beside a float input where that is faster.

The engine quantizes the input by rows first. With few channels, that costs more on some processors than 8-bit products
save.
"""

from __future__ import annotations

import numpy as np

from nnapi.drivers.xnnpack.passes.signed_weights import cost_model
from nnapi.formats.tflite.graph import Graph, Operator, Tensor
from nnapi.formats.tflite.operators import facts


def is_dynamic_range(operator: Operator) -> bool:
    """Whether an operator multiplies a float input by quantized constants."""
    return bool(facts(operator.kind).weights) and operator.input(0).type == "f32" and bool(_find_quantized(operator))


def _find_quantized(operator: Operator) -> list[Tensor]:
    weights = [operator.inputs[position] for position in facts(operator.kind).weights]
    return [each for each in weights if each is not None and each.type == "i8" and each.data is not None]


def use_float_weights(graph: Graph) -> Graph:
    """Return the graph with all such weights dequantized."""
    return _rewrite(graph, [is_dynamic_range(operator) for operator in graph.operators])


def use_faster_weights(graph: Graph) -> Graph:
    """Return the graph with weights dequantized where the measured timings favor that; cells are decomposed by then."""
    if not any(map(is_dynamic_range, graph.operators)) or not cost_model.timings().is_measured:
        return graph
    return _rewrite(
        graph,
        [
            is_dynamic_range(operator) and cost_model.estimate_dynamic_range(operator) > 0
            for operator in graph.operators
        ],
    )


def _rewrite(graph: Graph, chosen: list[bool]) -> Graph:
    numbers: dict[Tensor, Tensor] = {}
    operators: list[Operator] = []
    for operator, is_chosen in zip(graph.operators, chosen, strict=True):
        if is_chosen:
            numbers |= {codes: dequantize_filter(codes) for codes in _find_quantized(operator) if codes not in numbers}
            operator = operator.like([x and numbers.get(x, x) for x in operator.inputs])
        operators.append(operator)
    return graph.with_operators(operators)


def dequantize_filter(filter: Tensor) -> Tensor:
    """Dequantize a filter of signed values with zero point 0."""
    scales = np.asarray(filter.scale, np.float32)
    shape = [-1 if index == filter.axis else 1 for index in range(len(filter.shape))]
    factors = scales.reshape(shape) if scales.ndim else scales
    return filter.like(type="f32", scale=0.0, axis=0, data=filter.value.astype(np.float32) * factors)
