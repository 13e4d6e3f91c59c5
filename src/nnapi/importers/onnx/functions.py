"""Functions: operators that the file or ONNX defines by other operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nnapi.formats.onnx.messages import AttributeProto, FunctionProto, NodeProto
from nnapi.importers.onnx.reader import need_library
from nnapi.importers.onnx.tensors import OnnxTensor

if TYPE_CHECKING:
    from nnapi.formats.onnx import messages as onnx

Attributes = Mapping[str, "onnx.AttributeProto"]


@dataclass(frozen=True)
class Body:
    nodes: Sequence[onnx.NodeProto]
    inputs: Sequence[str]
    outputs: Sequence[str]
    opsets: dict[str, int]
    attributes: dict[str, onnx.AttributeProto]


def body_of(
    proto: onnx.NodeProto, domain: str, opset: int, opsets: Mapping[str, int], tensors: Sequence[OnnxTensor | None]
) -> Body | None:
    """Return ONNX's function for an operator, or None; ``opset`` is the version of the operator's domain."""
    need_library()
    from onnx import defs

    schema: Any = defs.get_schema(proto.op_type, opset, domain)
    content = b""
    if schema.has_context_dependent_function:
        version = _nearest(schema.context_dependent_function_opset_versions, opset)
        types = [_type(tensor) for tensor in tensors]
        content = schema.get_context_dependent_function_with_opset_version(version, proto.SerializeToString(), types)
    if not content and schema.has_function:
        content = schema.get_function_with_opset_version(_nearest(schema.function_opset_versions, opset))
    if not content:
        return None
    function = FunctionProto(content)
    values = (each.default_value for each in schema.attributes.values())
    defaults = {each.name: AttributeProto(each.SerializeToString()) for each in values if each.name}
    return _body(function, proto, defaults, opsets)


def _nearest(versions: Sequence[int], opset: int) -> int:
    """Return the newest version up to ``opset``, else the oldest; all versions of one schema mean the same."""
    return max((each for each in versions if each <= opset), default=min(versions))


def local_body(function: onnx.FunctionProto, proto: onnx.NodeProto, opsets: dict[str, int]) -> Body:
    return _body(function, proto, {each.name: each for each in function.attribute_proto}, opsets)


def _body(function: onnx.FunctionProto, proto: onnx.NodeProto, defaults: Attributes, opsets: Mapping[str, int]) -> Body:
    imports = {each.domain if each.domain != "ai.onnx" else "": each.version for each in function.opset_import}
    given = {each.name: each for each in proto.attribute}
    return Body(function.node, function.input, function.output, {**opsets, **imports}, {**defaults, **given})


def resolve_attributes(proto: onnx.NodeProto, attributes: Attributes) -> onnx.NodeProto:
    """Return a node of a function; references to the function's attributes are replaced by their values."""
    if not any(each.ref_attr_name for each in proto.attribute):
        return proto
    copy = NodeProto()
    copy.CopyFrom(proto)
    copy.attribute = []
    for each in proto.attribute:
        if not each.ref_attr_name:
            copy.attribute.append(each)
        elif each.ref_attr_name in attributes:
            attribute = AttributeProto()
            attribute.CopyFrom(attributes[each.ref_attr_name])
            attribute.name = each.name
            copy.attribute.append(attribute)
    return copy


def _type(tensor: OnnxTensor | None) -> bytes:
    from onnx import helper

    if tensor is None:
        return b""
    shape = None if tensor.shape is None else [each or None for each in tensor.shape]
    if tensor.array is not None:
        shape = list(tensor.array.shape)
    content: bytes = helper.make_tensor_type_proto(tensor.elem, shape).SerializeToString()
    return content
