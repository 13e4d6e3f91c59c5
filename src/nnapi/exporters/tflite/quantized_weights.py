"""Products of floats and constants that stay quantized: TFLite's dynamic-range operators."""

import numpy as np

from nnapi.formats.tflite.dead_code import remove_dead_operators
from nnapi.formats.tflite.graph import Graph, Operator, Tensor
from nnapi.formats.tflite.operators import facts


def use_quantized_weights(graph: Graph) -> Graph:
    """Return the graph with dequantized weights replaced by the quantized ones, which its operators take as well."""
    made = [operator for operator in graph.operators if operator.kind == "DEQUANTIZE"]
    found = {each.output: each.input(0) for each in made if _is_quantized_weights(each.input(0))}
    kept = {real: _repeat_scale(quantized) for real, quantized in found.items()}
    return remove_dead_operators(graph.with_operators([_replace(operator, kept) for operator in graph.operators]))


def _is_quantized_weights(tensor: Tensor) -> bool:
    is_signed = tensor.type == "i8" and tensor.is_constant and not tensor.zero_point
    return is_signed and (isinstance(tensor.scale, float) or tensor.axis == 0)


def _repeat_scale(tensor: Tensor) -> Tensor:
    """Repeat the one scale for each unit: XNNPACK claims only such weights beside floats."""
    if not isinstance(tensor.scale, float):
        return tensor
    return tensor.like(scale=np.full(tensor.shape[0], tensor.scale, np.float32), axis=0, data=tensor.value)


def _replace(operator: Operator, kept: dict[Tensor, Tensor]) -> Operator:
    row = facts(operator.kind)
    positions = row.weights if row.sums else ()
    return operator.like([kept.get(x, x) if i in positions and x else x for i, x in enumerate(operator.inputs)])
