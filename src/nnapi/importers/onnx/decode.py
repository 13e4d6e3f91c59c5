"""Decode the graphs of an ONNX file, and check that every name that they read is defined."""

from collections.abc import Sequence, Set

from nnapi.errors import BadDataError, need
from nnapi.formats.onnx import messages as onnx
from nnapi.formats.onnx.messages import make_node
from nnapi.importers.input_shapes import DYNAMIC
from nnapi.importers.onnx.dynamic_quantization import join_products
from nnapi.importers.onnx.file_graph import Declared, FileContent, FileFunction, FileGraph, FileNode, kind_of


def decode(model: onnx.ModelProto) -> FileContent:
    """Return the graph and the functions of a model; raise BadDataError if one reads an undefined name."""
    graph, functions = _decode_graph(model.graph), {}
    for each in model.functions:
        nodes = _decode_whole(each.node, each.output, set(each.input))
        functions[kind_of(each.domain, each.name)] = FileFunction(nodes, each)
    constants = {each.name for each in graph.constants}
    inputs = [declare(each) for each in model.graph.input if each.name not in constants]
    outputs = list(map(declare, model.graph.output))
    results = [FileNode(make_node("Identity", [each.name], [each.name])) for each in outputs]
    return FileContent(graph, functions, inputs, outputs, results)


def declare(info: onnx.ValueInfoProto) -> Declared:
    """Return the declaration of an input or output; negative dimensions are dynamic, as in ONNX Runtime."""
    type = info.type.tensor_type
    sizes = [each.dim_value if each.HasField("dim_value") else None for each in type.shape.dim]
    shape = tuple(max(size or DYNAMIC, DYNAMIC) for size in sizes) if type.HasField("shape") else None
    return Declared(info.name, info.type.WhichOneof("value"), type.elem_type, shape, 0 in sizes)


def _decode_graph(proto: onnx.GraphProto, outside: Set[str] = frozenset()) -> FileGraph:
    """Return a graph; ``outside`` are the names of the outer graphs."""
    inputs, outputs = ([each.name for each in ends] for ends in (proto.input, proto.output))
    sparse = [each.values.name for each in proto.sparse_initializer]
    known = {*outside, *inputs, *sparse, *(each.name for each in proto.initializer)}
    nodes = _decode_whole(proto.node, outputs, known)
    return FileGraph(nodes, inputs, outputs, proto.initializer, sparse, proto.name)


def decode_nodes(protos: Sequence[onnx.NodeProto], outputs: Sequence[str], known: set[str]) -> Sequence[FileNode]:
    """Return nodes, with products fused; add the names that they write to ``known``."""
    nodes = []
    for proto in protos:
        for name in proto.input:
            if name and name not in known:
                raise BadDataError(_describe_undefined(proto, name, protos))
        nodes.append(_decode_node(proto, known))
        known.update(proto.output)
    return join_products(nodes, outputs)


def _decode_whole(protos: Sequence[onnx.NodeProto], outputs: Sequence[str], known: set[str]) -> Sequence[FileNode]:
    """Return nodes that write all outputs."""
    nodes = decode_nodes(protos, outputs, known)
    for name in outputs:
        need(name in known, f"nothing writes the output {name}", BadDataError)
    return nodes


def _decode_node(proto: onnx.NodeProto, known: Set[str]) -> FileNode:
    """Return a node; its subgraphs may read the names ``known``."""
    graphs = [
        (attribute.name, _decode_graph(graph, known))
        for attribute in proto.attribute
        for graph in ([attribute.g] if attribute.HasField("g") else attribute.graphs)
    ]
    return FileNode(proto, tuple(graphs))


def _describe_undefined(node: onnx.NodeProto, name: str, nodes: Sequence[onnx.NodeProto]) -> str:
    reader = f"{node.op_type} {node.name or next(iter(node.output), '')}".strip()
    if name in node.output:
        return f"{reader} reads its own output {name}"
    if any(name in each.output for each in nodes):
        return f"{reader} reads {name} before it is written: the graph has a cycle, or its nodes are not in order"
    return f"{reader} reads {name}, which is not an input or a constant, and no node writes it"
