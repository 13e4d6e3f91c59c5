"""Functions that define operators: their version, their attributes, and the types of their inputs."""

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import helper  # noqa: E402

from nnapi.formats.onnx.messages import attribute_value, make_attribute, make_node  # noqa: E402
from nnapi.importers.onnx.functions import (  # noqa: E402
    _nearest,
    _type,
    body_of,
    local_body,
    resolve_attributes,
)
from nnapi.importers.onnx.tensors import OnnxTensor, constant  # noqa: E402


@pytest.mark.parametrize(("opset", "version"), [(20, 18), (18, 18), (17, 13), (13, 13), (12, 13), (6, 13)])
def test_the_newest_version_up_to_the_opset(opset: int, version: int) -> None:
    assert _nearest([13, 18], opset) == version
    assert _nearest([18, 13], opset) == version


def test_operators_without_a_function_have_no_body() -> None:
    node = helper.make_node("Abs", ["x"], ["y"])
    assert body_of(node, "", 17, {"": 17}, []) is None


def test_a_function_of_onnx_with_its_defaults() -> None:
    node = helper.make_node("HardSwish", ["x"], ["y"])
    body = body_of(node, "", 14, {"": 14, "mine": 2}, [OnnxTensor("x", 1, (2,))])
    assert body is not None
    assert (list(body.inputs), list(body.outputs), body.opsets) == (["X"], ["Y"], {"": 14, "mine": 2})
    shrink = helper.make_node("Shrink", ["x"], ["y"], lambd=0.75)
    body = body_of(shrink, "", 17, {"": 17}, [])
    assert body is not None
    assert {name: each.f for name, each in body.attributes.items()} == {"bias": 0, "lambd": 0.75}


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
    body = body_of(helper.make_node("Clip", names, ["y"]), "", 13, {"": 13}, tensors)
    assert body is not None
    assert [each.op_type for each in body.nodes] == kinds


def test_a_function_of_the_file_overrides_opsets_and_defaults() -> None:
    opsets = [helper.make_opsetid("ai.onnx", 13), helper.make_opsetid("mine", 3)]
    function = helper.make_function("mine", "F", ["a"], ["b"], [], opsets)
    function.attribute_proto.extend([helper.make_attribute("alpha", 0.5), helper.make_attribute("beta", 2)])
    body = local_body(function, helper.make_node("F", ["x"], ["y"], beta=7, gamma=1), {"": 17, "other": 4})
    assert body.opsets == {"": 13, "mine": 3, "other": 4}
    assert {name: attribute_value(each) for name, each in body.attributes.items()} == {
        "alpha": 0.5,
        "beta": 7,
        "gamma": 1,
    }


def test_attributes_that_refer_to_the_function_s_are_resolved() -> None:
    node = make_node("LeakyRelu", ["x"], ["y"], kept=3)
    assert resolve_attributes(node, {}) is node
    for name, source in (("alpha", "slope"), ("beta", "missing")):
        attribute = make_attribute(name, 0.5)
        attribute.ref_attr_name = source
        node.attribute.append(attribute)
    slope = make_attribute("slope", 0.25)
    found = resolve_attributes(node, {"slope": slope, "kept": node.attribute[0]})
    assert [(each.name, attribute_value(each)) for each in found.attribute] == [("kept", 3), ("alpha", 0.25)]
    assert (found.op_type, list(found.input), slope.name) == ("LeakyRelu", ["x"], "slope")
    assert len(node.attribute) == 3


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
