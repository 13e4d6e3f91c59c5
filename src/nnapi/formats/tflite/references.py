"""Which subgraphs of its file an operator refers to."""

from __future__ import annotations

from nnapi.formats.tflite.reader import Operator

FIELDS = {
    "IF": ("then_subgraph_index", "else_subgraph_index"),
    "WHILE": ("cond_subgraph_index", "body_subgraph_index"),
    "STABLEHLO_COMPOSITE": ("decomposition_subgraph_index",),
    "CALL": ("subgraph",),
}
"""The parameters that are numbers of subgraphs."""
CONTROL_FLOW = ("IF", "WHILE")
"""What refers to subgraphs as models of their own; the operations of the others' take the operator's place."""


def list_subgraphs(operator: Operator) -> list[int]:
    """The numbers of the subgraphs, which may not exist."""
    if operator.kind not in FIELDS:
        return []
    options = operator.options()
    return [getattr(options, field) for field in FIELDS[operator.kind]]
