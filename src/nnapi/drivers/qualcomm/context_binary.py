"""Context models: ONNX files of one node, with the graph that Qualcomm's compiler made."""

from nnapi.formats.onnx.messages import ModelProto, attribute_value

BINARY = "ep_cache_context"


def read_binary(context: bytes) -> bytes:
    """Return the context binary inside a context model. Programs pass it to Qualcomm's libraries on the phone."""
    (node,) = ModelProto(context).graph.node
    (found,) = (each for each in node.attribute if each.name == BINARY)
    return bytes(attribute_value(found))
