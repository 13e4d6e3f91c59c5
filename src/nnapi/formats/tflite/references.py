"""Which subgraphs of its file an operator refers to."""

from __future__ import annotations

from nnapi.formats.tflite.reader import Operator

FIELDS = {
    "IF": ("then_subgraph_index", "else_subgraph_index"),
    "WHILE": ("cond_subgraph_index", "body_subgraph_index"),
    "STABLEHLO_COMPOSITE": ("decomposition_subgraph_index",),
    "CALL": ("subgraph",),
}
"""The parameters that are indices of subgraphs."""
CONTROL_FLOW = ("IF", "WHILE")
"""The operators that refer to subgraphs as models of their own; the subgraphs of the others are inlined."""


def list_subgraphs(operator: Operator) -> list[int]:
    """Return the indices of the operator's subgraphs, which may not exist."""
    if operator.kind not in FIELDS:
        return []
    options = operator.options()
    return [getattr(options, field) for field in FIELDS[operator.kind]]
