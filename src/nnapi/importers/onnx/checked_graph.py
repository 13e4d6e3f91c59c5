"""Check that every name that an ONNX graph reads is defined."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from typing import TYPE_CHECKING

from nnapi.errors import BadDataError

if TYPE_CHECKING:
    from nnapi.formats.onnx import messages as onnx


def list_graphs(node: onnx.NodeProto) -> list[onnx.GraphProto]:
    """Return the graphs in a node's attributes. Most attributes hold none, and an absent one takes time to make."""
    return [
        graph
        for attribute in node.attribute
        for graph in (*([attribute.g] if attribute.HasField("g") else ()), *attribute.graphs)
    ]


def check_graph(model: onnx.ModelProto) -> onnx.GraphProto:
    """Return the graph of a model. Raise BadDataError if the graph or a function reads an undefined name."""
    for undefined in _find_undefined(model):
        raise BadDataError(undefined)
    return model.graph


def _find_undefined(model: onnx.ModelProto) -> Iterator[str]:
    yield from _find_in_graph(model.graph)
    for function in model.functions:
        yield from _find_in_nodes(function.node, set(function.input), function.output)


def _find_in_graph(graph: onnx.GraphProto, outside: Set[str] = frozenset()) -> Iterator[str]:
    """Describe each reading of an undefined name; ``outside`` are the outer graphs' names."""
    known = set(outside) | {each.name for each in (*graph.input, *graph.initializer)}
    known |= {each.values.name for each in graph.sparse_initializer}
    yield from _find_in_nodes(graph.node, known, [each.name for each in graph.output])


def _find_in_nodes(nodes: Sequence[onnx.NodeProto], known: set[str], outputs: Iterable[str]) -> Iterator[str]:
    for node in nodes:
        for name in node.input:
            if name and name not in known:
                yield _describe_undefined(node, name, nodes)
        for inner in list_graphs(node):
            yield from _find_in_graph(inner, known)
        known.update(node.output)
    for name in outputs:
        if name not in known:
            yield f"nothing writes the output {name}"


def _describe_undefined(node: onnx.NodeProto, name: str, nodes: Sequence[onnx.NodeProto]) -> str:
    reader = f"{node.op_type} {node.name or next(iter(node.output), '')}".strip()
    if name in node.output:
        return f"{reader} reads its own output {name}"
    if any(name in each.output for each in nodes):
        return f"{reader} reads {name} before it is written: the graph has a cycle, or its nodes are not in order"
    return f"{reader} reads {name}, which is not an input or a constant, and no node writes it"
