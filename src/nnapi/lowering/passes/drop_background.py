"""Pass scores without a column for the background to TFLite's suppression, which needs none, unlike NNAPI's."""

from nnapi.formats.tflite.graph import Graph, Operator, remove_dead_operators
from nnapi.formats.tflite.schema import DETECTION

BACKGROUND = [[0, 0], [0, 0], [1, 0]]
"""The paddings that add the column before the others."""


def drop_background(graph: Graph) -> Graph:
    """Return the graph in which suppressions read scores from before the column was added."""
    sources = {operator.output: operator.input(0) for operator in graph.operators if _adds_background(operator)}

    def read_source(operator: Operator) -> list[Operator] | None:
        if operator.kind != DETECTION or operator.input(1) not in sources:
            return None
        deltas, scores, anchors = (operator.input(i) for i in range(3))
        return [operator.like([deltas, sources[scores], anchors])]

    return remove_dead_operators(graph.rewrite(read_source)) if sources else graph


def _adds_background(operator: Operator) -> bool:
    return operator.kind == "PAD" and operator.input(1).is_constant and operator.input(1).value.tolist() == BACKGROUND
