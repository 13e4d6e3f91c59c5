"""Functions that define operators: their version, their attributes, and the types of their inputs."""

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import helper  # noqa: E402

from nnapi.formats.onnx.messages import FunctionProto, NodeProto, attribute_value, make_attribute, make_node  # noqa: E402
from nnapi.importers.onnx.file_graph import FileFunction, FileNode  # noqa: E402
from nnapi.importers.onnx.functions import (  # noqa: E402
    _nearest,
    _type,
    body_of,
    local_body,
    resolve,
)
from nnapi.importers.onnx.tensors import OnnxTensor, constant  # noqa: E402
from tests.importers.onnx.file_nodes import decoded  # noqa: E402


@pytest.mark.parametrize(("opset", "version"), [(20, 18), (18, 18), (17, 13), (13, 13), (12, 13), (6, 13)])
def test_the_newest_version_up_to_the_opset(opset: int, version: int) -> None:
    assert _nearest([13, 18], opset) == version
    assert _nearest([18, 13], opset) == version


def test_operators_without_a_function_have_no_body() -> None:
    node = FileNode(helper.make_node("Abs", ["x"], ["y"]))
    assert body_of(node, {"": 17}, []) is None


def test_a_function_of_onnx_with_its_defaults() -> None:
    node = FileNode(helper.make_node("HardSwish", ["x"], ["y"]))
    body = body_of(node, {"": 14, "mine": 2}, [OnnxTensor("x", 1, (2,))])
    assert body is not None
    assert (list(body.graph.inputs), list(body.graph.outputs), body.opsets) == (["X"], ["Y"], {"": 14, "mine": 2})
    shrink = FileNode(make_node("Shrink", ["x"], ["y"], lambd=0.75))
    body = body_of(shrink, {"": 17}, [OnnxTensor("x", 1, (2,))])
    assert body is not None
    values = [
        attribute_value(each)
        for node in body.graph.nodes
        for each in node.proto.attribute
        if each.name == "value_float"
    ]
    assert {0, 0.75} <= set(values)


@pytest.mark.parametrize(
    ("names", "kinds"),
    [
        (["x"], ["Identity"]),
        (["x", "", "high"], ["Less", "Where"]),
        (["x", "low", "high"], ["Less", "Where", "Less", "Where"]),
    ],
)
def test_a_function_that_depends_on_its_inputs(names: list[str], kinds: list[str]) -> None:
    tensors = [OnnxTensor(name, 1, ()) if name else None for name in names]
    body = body_of(FileNode(helper.make_node("Clip", names, ["y"])), {"": 13}, tensors)
    assert body is not None
    assert [each.kind for each in body.graph.nodes] == kinds


def test_a_function_of_the_file_overrides_opsets_and_defaults() -> None:
    opsets = [helper.make_opsetid("ai.onnx", 13), helper.make_opsetid("mine", 3)]
    nodes = [refer(make_node("Abs", ["a"], ["b"]), alpha="alpha", beta="beta", gamma="gamma")]
    function = helper.make_function("mine", "F", ["a"], ["b"], [], opsets)
    function.attribute_proto.extend([helper.make_attribute("alpha", 0.5), helper.make_attribute("beta", 2)])
    call = FileNode(make_node("F", ["x"], ["y"], beta=7, gamma=1))
    body = local_body(
        FileFunction(decoded(nodes), FunctionProto(function.SerializeToString())),
        call,
        {"": 17, "other": 4},
        [OnnxTensor("x", 1, (2,))],
    )
    assert body.opsets == {"": 13, "mine": 3, "other": 4}
    assert values_of(body.graph.nodes[0]) == {"alpha": 0.5, "beta": 7, "gamma": 1}


def refer(node: NodeProto, **sources: str) -> NodeProto:
    """Add attributes that refer to the function's attributes ``sources``."""
    for name, source in sources.items():
        attribute = make_attribute(name, 9.0)
        attribute.ref_attr_name = source
        node.attribute.append(attribute)
    return node


def values_of(node: FileNode) -> dict[str, Any]:
    return {each.name: attribute_value(each) for each in node.proto.attribute}


def test_attributes_that_refer_to_the_function_s_are_resolved() -> None:
    node = FileNode(make_node("LeakyRelu", ["x", "y"], ["z"], kept=3))
    assert resolve(node, {}, ()) is node
    node = FileNode(refer(node.proto, alpha="slope", again="slope", beta="missing"))
    slope = make_attribute("slope", 0.25)
    found = resolve(node, {"slope": slope, "kept": node.proto.attribute[0]}, (), {"y"})
    assert values_of(found) == {"kept": 3, "alpha": 0.25, "again": 0.25}
    assert (found.kind, list(found.inputs), slope.name) == ("LeakyRelu", ["x", ""], "slope")
    assert len(node.proto.attribute) == 4


def test_attributes_in_subgraphs_of_functions_are_resolved() -> None:
    """An If in the function, whose branch reads its attribute, and an If whose branch is its attribute."""
    branch = helper.make_graph([helper.make_node("Elu", ["a"], ["b"])], "branch", [], [onnx.ValueInfoProto(name="b")])
    branch.node[0].attribute.append(
        onnx.AttributeProto(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT)
    )
    node, taker = decoded(
        [
            NodeProto(helper.make_node("If", ["c"], ["d"], then_branch=branch).SerializeToString()),
            refer(make_node("If", ["c"], ["e"]), then_branch="given"),
        ]
    )
    graphs = (("given", node.graphs[0][1]),)
    attributes = {"slope": make_attribute("slope", 0.25), "given": make_attribute("given", 0)}
    found = resolve(node, attributes, graphs)
    assert [values_of(graph.nodes[0]) for _, graph in found.graphs] == [{"alpha": 0.25}]
    assert found.graphs[0][1].find_only_reader("a") is found.graphs[0][1].nodes[0]
    assert resolve(taker, attributes, graphs).graphs == (("then_branch", node.graphs[0][1]),)


@pytest.mark.parametrize(
    ("tensor", "elem", "shape"),
    [
        (OnnxTensor("x", 10, (2, 0)), 10, [2, None]),
        (OnnxTensor("x", 1, ()), 1, []),
        (OnnxTensor("x", 1, None), 1, None),
        (constant("c", np.zeros((0, 3), np.int64)), 7, [0, 3]),
    ],
)
def test_types_of_inputs(tensor: OnnxTensor, elem: int, shape: Any) -> None:
    proto = onnx.TypeProto()
    proto.ParseFromString(_type(tensor))
    assert proto.tensor_type.elem_type == elem
    assert proto.tensor_type.HasField("shape") == (shape is not None)
    sizes = [each.dim_value if each.HasField("dim_value") else None for each in proto.tensor_type.shape.dim]
    assert sizes == (shape or [])
    assert _type(None) == b""
