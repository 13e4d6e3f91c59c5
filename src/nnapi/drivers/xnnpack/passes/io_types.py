"""Inputs and outputs whose codes stay unsigned, as what reads or makes them takes unsigned codes as well.

Others are turned into signed codes, and back, outside the engine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from nnapi.drivers.xnnpack.context import SHIFT
from nnapi.formats.tflite.graph import Graph, Operator, Tensor


def left_unsigned(graph: Graph, unsigned: Sequence[bool]) -> Graph:
    """The same graph with such inputs and outputs; ``unsigned`` says of each, inputs first, whether its user's codes
    are."""
    sides = zip((*graph.inputs, *graph.outputs), unsigned, strict=True)
    around: dict[Tensor | None, list[Operator]] = {end: [] for end, turned in sides if turned and end.type == "i8"}
    if not around:
        return graph
    for operator in graph.operators:
        for tensor in (*operator.inputs, *operator.outputs):
            if tensor in around:
                around[tensor].append(operator)
    ends = Counter((*graph.inputs, *graph.outputs))
    changed: dict[Tensor, Tensor] = {}
    for tensor, is_unsigned in zip((*graph.inputs, *graph.outputs), unsigned, strict=True):
        operators = around.get(tensor) if is_unsigned else None
        if not operators:
            continue
        is_alone = ends[tensor] == 1 and (tensor in graph.inputs or len(operators) == 1)
        if is_alone and all(map(_takes_both, operators)):
            changed[tensor] = tensor.like(type="u8", zero_point=tensor.zero_point + SHIFT)
            same = [other for operator in operators for other in _ends(operator) if other.same_codes(changed[tensor])]
            changed.update(dict.fromkeys(same, changed[tensor]))
    return _with(graph, changed) if changed else graph


def _takes_both(operator: Operator) -> bool:
    """Whether an operator converts between codes and numbers, or between signed and unsigned codes."""
    types = {tensor.type for tensor in _ends(operator)}
    return operator.kind in ("DEQUANTIZE", "QUANTIZE") and bool(types & {"f32", "u8"})


def _ends(operator: Operator) -> list[Tensor]:
    return [tensor for tensor in (*operator.inputs, *operator.outputs) if tensor is not None]


def _with(graph: Graph, changed: dict[Tensor, Tensor]) -> Graph:
    """The graph with other tensors, without operators that then give what they are given."""
    operators: list[Operator] = []
    for old in graph.operators:
        inputs = [None if tensor is None else changed.get(tensor, tensor) for tensor in old.inputs]
        outputs = [changed.get(tensor, tensor) for tensor in old.outputs]
        if inputs[:1] != outputs[:1]:
            operators.append(Operator(old.kind, inputs, outputs, old.options, old.intermediates))
    ends = ([changed.get(tensor, tensor) for tensor in side] for side in (graph.inputs, graph.outputs))
    return Graph(operators, *ends)
