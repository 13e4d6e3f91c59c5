"""The binary inside a context model."""

from nnapi.drivers.qualcomm.context_binary import read_binary
from nnapi.formats.onnx.messages import GraphProto, ModelProto, make_node


def test_the_binary_is_read() -> None:
    model, graph = ModelProto(), GraphProto()
    node = make_node("EPContext", ["x"], ["y"], embed_mode=1, ep_cache_context=b"\0graph", source=b"QNN")
    graph.node, model.graph = [node], graph
    assert read_binary(model.SerializeToString()) == b"\0graph"
