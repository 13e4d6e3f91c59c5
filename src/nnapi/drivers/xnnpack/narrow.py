"""Filters whose numbers do not all fit into signed bytes: how the operators that have one are computed."""

from __future__ import annotations

from nnapi.drivers.xnnpack.graph import Graph, Operator, Tensor

SHIFT = 128


def narrow(graph: Graph) -> Graph:
    """Let operators with unsigned filters compute on unsigned codes, translated on the way in and out."""
    unsigned: dict[Tensor, Tensor] = {}
    operators: list[Operator] = []
    for operator in graph.operators:
        filter = operator.inputs[1] if len(operator.inputs) > 1 else None
        if filter is None or filter.type != "u8":
            operators.append(operator)
            continue
        at = 2 if operator.kind == "TRANSPOSE_CONV" else 0
        x, y = operator.inputs[at], operator.outputs[0]
        assert x is not None
        if x not in unsigned:
            unsigned[x] = _unsigned(x)
            operators.append(Operator("QUANTIZE", [x], [unsigned[x]]))
        unsigned[y] = _unsigned(y)
        inputs = [*operator.inputs]
        inputs[at] = unsigned[x]
        operators.append(Operator(operator.kind, inputs, [unsigned[y]], operator.options))
        operators.append(Operator("QUANTIZE", [unsigned[y]], [y]))
    return Graph(operators, graph.inputs, graph.outputs)


def _unsigned(tensor: Tensor) -> Tensor:
    return tensor.like(type="u8", zero_point=tensor.zero_point + SHIFT)
