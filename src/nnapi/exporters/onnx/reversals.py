"""Reversals of axes, which lie around TopK where NNAPI orders equal elements otherwise."""

from collections.abc import Sequence

import numpy as np

from nnapi.exporters.onnx.graph import Graph, Node, Value, constant
from nnapi.lowering.inverses import Inverse, cancel_inverses

FARTHEST = np.iinfo(np.int64).min
"""The end of a backward slice that includes the first element."""


def bounds_of_reversal(axes: Sequence[int]) -> list[Value]:
    """Return starts, ends, axes and steps of the Slice that reverses axes."""
    return [constant(each) for each in ([-1] * len(axes), [FARTHEST] * len(axes), axes, [-1] * len(axes))]


def cancel_reversals(graph: Graph) -> None:
    """Let no node read the result of two reversals that undo each other: an importer's and that of TopK's rule."""
    if any(node.kind == "TopK" for node in graph.nodes):
        cancel_inverses(graph.nodes, graph.outputs, _find_inverse)


def _find_inverse(node: Node) -> Inverse | None:
    """Return the input of a reversal, or x of a c - x of integers, and what must be equal for it to be undone."""
    if node.kind == "Slice" and len(node.inputs) == 5:
        given = [[] if each is None or each.data is None else each.data.tolist() for each in node.inputs[1:]]
        axes = given[2]
        is_reversal = len(axes) == 1 and given == [[-1], [FARTHEST], axes, [-1]]
        return (node.inputs[0], ("Slice", *axes)) if is_reversal else None
    end = node.inputs[0].data if node.kind == "Sub" and node.inputs[0] is not None else None
    is_complement = end is not None and end.size == 1 and end.dtype.kind == "i"
    return (node.inputs[1], ("Sub", end.item())) if end is not None and is_complement else None
