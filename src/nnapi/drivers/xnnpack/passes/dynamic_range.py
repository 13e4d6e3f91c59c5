"""Weights that are codes beside a float input, which the engine quantises row by row: the numbers in their place.

For few channels quantising the input takes longer than products of bytes save, on some processors.
"""

from __future__ import annotations

import numpy as np

from nnapi.drivers.xnnpack.passes.signed_weights import cost_model
from nnapi.formats.tflite.graph import Graph, Operator, Tensor
from nnapi.formats.tflite.operators import facts


def is_dynamic_range(operator: Operator) -> bool:
    """Whether an operator multiplies a float input by constant codes."""
    return bool(facts(operator.kind).weights) and operator.input(0).type == "f32" and bool(_find_codes(operator))


def _find_codes(operator: Operator) -> list[Tensor]:
    """The weights that are constant codes."""
    weights = [operator.inputs[position] for position in facts(operator.kind).weights]
    return [each for each in weights if each is not None and each.type == "i8" and each.data is not None]


def use_float_weights(graph: Graph) -> Graph:
    """The same graph with the numbers behind all such codes."""
    return _rewrite(graph, [is_dynamic_range(operator) for operator in graph.operators])


def use_faster_weights(graph: Graph) -> Graph:
    """The same graph with the numbers where the figures of the processor say that they are faster; cells are written
    out by then."""
    if not any(map(is_dynamic_range, graph.operators)) or not cost_model.figures().is_measured:
        return graph
    return _rewrite(
        graph,
        [
            is_dynamic_range(operator) and cost_model.estimate_dynamic_range(operator) > 0
            for operator in graph.operators
        ],
    )


def _rewrite(graph: Graph, chosen: list[bool]) -> Graph:
    """The same graph with the numbers behind the codes of those operators."""
    numbers: dict[Tensor, Tensor] = {}
    operators: list[Operator] = []
    for operator, is_chosen in zip(graph.operators, chosen, strict=True):
        if is_chosen:
            numbers |= {codes: dequantize_filter(codes) for codes in _find_codes(operator) if codes not in numbers}
            operator = operator.like([x and numbers.get(x, x) for x in operator.inputs])
        operators.append(operator)
    return graph.with_operators(operators)


def dequantize_filter(filter: Tensor) -> Tensor:
    """A filter of signed codes around zero as float32."""
    scales = np.asarray(filter.scale, np.float32)
    shape = [-1 if place == filter.axis else 1 for place in range(len(filter.shape))]
    factors = scales.reshape(shape) if scales.ndim else scales
    return filter.like(type="f32", scale=0.0, axis=0, data=filter.value.astype(np.float32) * factors)
