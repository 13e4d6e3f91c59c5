"""Check that every name in a graph is written before a node reads it."""

from __future__ import annotations

from collections.abc import Set
from typing import TYPE_CHECKING

from nnapi.errors import BadDataError, need

if TYPE_CHECKING:
    import onnx


def need_defined(graph: onnx.GraphProto, outside: Set[str] = frozenset()) -> None:
    """Raise BadDataError for the first node that reads an undefined name; ``outside`` are the outer graphs' names."""
    known = set(outside) | {each.name for each in (*graph.input, *graph.initializer)}
    known |= {each.values.name for each in graph.sparse_initializer}
    later = {name for node in graph.node for name in node.output}
    for node in graph.node:
        for name in node.input:
            need(not name or name in known, _describe(node, name, later), BadDataError)
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                need_defined(inner, known)
        known.update(node.output)
    for output in graph.output:
        need(output.name in known, f"nothing writes the output {output.name}", BadDataError)


def _describe(node: onnx.NodeProto, name: str, later: Set[str]) -> str:
    reader = f"{node.op_type} {node.name or next(iter(node.output), '')}".strip()
    if name in node.output:
        return f"{reader} reads its own output {name}"
    if name in later:
        return f"{reader} reads {name} before it is written: the graph has a cycle, or its nodes are not in order"
    return f"{reader} reads {name}, which is not an input or a constant, and no node writes it"
