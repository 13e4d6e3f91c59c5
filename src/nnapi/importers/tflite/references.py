"""Which subgraphs of its file an operator refers to."""

from __future__ import annotations

from nnapi.importers.tflite.reader import Operator

FIELDS = {
    "IF": ("IfOptions", ("then_subgraph_index", "else_subgraph_index")),
    "WHILE": ("WhileOptions", ("cond_subgraph_index", "body_subgraph_index")),
    "STABLEHLO_COMPOSITE": ("StableHLOCompositeOptions", ("decomposition_subgraph_index",)),
    "CALL": ("CallOptions", ("subgraph",)),
}
"""The table of an operator's parameters, and those that are numbers of subgraphs."""
CONTROL_FLOW = ("IF", "WHILE")
"""What refers to subgraphs as models of their own; the operations of the others' take the operator's place."""


def referred(operator: Operator) -> list[int]:
    """The numbers of the subgraphs, which may not exist."""
    if operator.kind not in FIELDS:
        return []
    table, fields = FIELDS[operator.kind]
    options = operator.options(table)
    return [getattr(options, field) for field in fields]
