"""Functions: operators that the file or ONNX defines by other operators."""

from collections.abc import Mapping, Sequence, Set
from typing import Any, NamedTuple

from nnapi.formats.onnx.messages import AttributeProto, FunctionProto, NodeProto
from nnapi.importers.onnx.decode import decode_nodes
from nnapi.importers.onnx.file_graph import FileFunction, FileGraph, FileNode
from nnapi.importers.onnx.reader import need_library
from nnapi.importers.onnx.tensors import OnnxTensor
from nnapi.shapes.size import Size

Attributes = Mapping[str, AttributeProto]
Graphs = Sequence[tuple[str, FileGraph]]
Tensors = Sequence[OnnxTensor | None]


class Body(NamedTuple):
    """The body of a function for one of its calls."""

    graph: FileGraph
    opsets: dict[str, int]


def body_of(node: FileNode, opsets: Mapping[str, int], tensors: Tensors) -> Body | None:
    """Return ONNX's function for an operator, or None."""
    need_library()
    from onnx import defs

    opset = opsets.get(node.domain, 1)
    schema: Any = defs.get_schema(node.proto.op_type, opset, node.domain)
    content = b""
    if schema.has_context_dependent_function:
        version = _nearest(schema.context_dependent_function_opset_versions, opset)
        types, call = [_type(tensor) for tensor in tensors], node.proto.SerializeToString()
        content = schema.get_context_dependent_function_with_opset_version(version, call, types)
    if not content and schema.has_function:
        content = schema.get_function_with_opset_version(_nearest(schema.function_opset_versions, opset))
    if not content:
        return None
    values = (each.default_value for each in schema.attributes.values())
    defaults = {each.name: AttributeProto(each.SerializeToString()) for each in values if each.name}
    proto = FunctionProto(content)
    nodes = decode_nodes(proto.node, proto.output, set(proto.input))
    return _body(FileFunction(nodes, proto), node, defaults, opsets, tensors)


def _nearest(versions: Sequence[int], opset: int) -> int:
    """Return the newest version up to ``opset``, else the oldest; all versions of one schema mean the same."""
    return max((each for each in versions if each <= opset), default=min(versions))


def local_body(function: FileFunction, node: FileNode, opsets: Mapping[str, int], tensors: Tensors) -> Body:
    return _body(function, node, {each.name: each for each in function.proto.attribute_proto}, opsets, tensors)


def _body(
    function: FileFunction, node: FileNode, defaults: Attributes, opsets: Mapping[str, int], tensors: Tensors
) -> Body:
    proto = function.proto
    imports = {each.domain if each.domain != "ai.onnx" else "": each.version for each in proto.opset_import}
    given = {name for name, tensor in zip(proto.input, tensors, strict=False) if tensor is not None}
    attributes = {**defaults, **{each.name: each for each in node.proto.attribute}}
    absent = set(proto.input) - given
    nodes = [resolve(each, attributes, node.graphs, absent) for each in function.nodes]
    return Body(FileGraph(nodes, proto.input, proto.output), {**opsets, **imports})


def resolve(node: FileNode, attributes: Attributes, graphs: Graphs, absent: Set[str] = frozenset()) -> FileNode:
    """Return a node of a function for a call: with the call's ``attributes`` and ``graphs`` that it refers to, and
    without the inputs that are ``absent``."""
    own = tuple((name, _resolve_graph(graph, attributes, graphs)) for name, graph in node.graphs)
    references = [each for each in node.proto.attribute if each.ref_attr_name]
    if not references and own == node.graphs and absent.isdisjoint(node.inputs):
        return node
    copy = NodeProto()
    copy.CopyFrom(node.proto)
    copy.input = ["" if name in absent else name for name in node.inputs]
    copy.attribute = [each for each in node.proto.attribute if not each.ref_attr_name]
    for each in references:
        if each.ref_attr_name in attributes:
            attribute = AttributeProto()
            attribute.CopyFrom(attributes[each.ref_attr_name])
            attribute.name = each.name
            copy.attribute.append(attribute)
    taken = ((each.name, graph) for each in references for name, graph in graphs if name == each.ref_attr_name)
    return FileNode(copy, (*own, *taken))


def _resolve_graph(graph: FileGraph, attributes: Attributes, graphs: Graphs) -> FileGraph:
    nodes = [resolve(node, attributes, graphs) for node in graph.nodes]
    if nodes == graph.nodes:
        return graph
    return FileGraph(nodes, graph.inputs, graph.outputs, graph.constants, graph.sparse, graph.name)


def _size(size: int) -> int | None:
    """Return a size; None if it is a symbol, for which ONNX has no number."""
    return None if isinstance(size, Size) else size


def _type(tensor: OnnxTensor | None) -> bytes:
    from onnx import helper

    if tensor is None:
        return b""
    shape: list[int | None] | None = None if tensor.shape is None else [_size(each) or None for each in tensor.shape]
    if tensor.array is not None:
        shape = [_size(each) for each in tensor.array.shape]
    content: bytes = helper.make_tensor_type_proto(tensor.elem, shape).SerializeToString()
    return content
