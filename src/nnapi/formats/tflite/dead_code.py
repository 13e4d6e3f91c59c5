"""Dead operators."""

from nnapi.formats.tflite.graph import Graph, Tensor


def remove_dead_operators(graph: Graph) -> Graph:
    """Return the graph without operators whose results are unused."""
    read: set[Tensor | None] = set(graph.outputs)
    live = []
    for operator in reversed(graph.operators):
        if not read.isdisjoint(operator.outputs):
            read.update(operator.inputs)
            live.append(operator)
    return graph.with_operators(live[::-1])
