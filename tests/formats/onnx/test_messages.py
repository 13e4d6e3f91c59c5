"""The reader of ONNX's messages, against the library's."""

import struct
from typing import Any

import numpy as np
import pytest

from nnapi.formats.onnx import messages
from nnapi.formats.onnx.messages import AttributeProto, Message, NodeProto, attribute_value, make_node
from nnapi.formats.onnx.wire import DecodeError, read_fields, read_varints, write_field, write_varint

NUMBERS = [0, 1, 127, 128, 300, -1, 2**31, 2**63 - 1, -(2**63)]


def find_type(library: Any, name: str) -> Any:
    nested = {"Tensor": library.TypeProto, "Dimension": library.TensorShapeProto}
    return getattr(nested.get(name, library), name)


def test_fields_are_those_of_the_library() -> None:
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    for name, kind in Message.KINDS.items():
        known = find_type(onnx, name).DESCRIPTOR.fields_by_name
        for field, (number, type, is_repeated) in kind.FIELDS.items():
            assert known[field].number == number, (name, field)
            assert isinstance(getattr(find_type(onnx, name)(), field), list | tuple) is False
            assert hasattr(getattr(find_type(onnx, name)(), field), "append") == is_repeated, (name, field)
            if known[field].message_type is not None and type != "b":
                assert known[field].message_type.name == type


@pytest.mark.parametrize("count", [1, 7, 40, 70_000])
def test_numbers_of_any_size_are_read(count: int) -> None:
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    numbers = (NUMBERS * (count // len(NUMBERS) + 1))[:count]
    floats = np.random.default_rng(1).normal(size=count).astype(np.float32).tolist()
    attribute = onnx.AttributeProto(name="a", ints=numbers, floats=floats, type=onnx.AttributeProto.INTS)
    ours = AttributeProto(attribute.SerializeToString())
    assert (ours.ints, ours.floats, ours.name, ours.type) == (numbers, floats, "a", 7)
    packed = onnx.TensorProto(int64_data=numbers, float_data=floats, double_data=floats, name="w", raw_data=b"xyz")
    tensor = messages.TensorProto(packed.SerializeToString())
    assert (tensor.int64_data, tensor.float_data, tensor.double_data) == (numbers, floats, floats)
    assert (bytes(tensor.raw_data), tensor.name) == (b"xyz", "w")
    again = onnx.TensorProto.FromString(tensor.SerializeToString())
    assert again == packed


def test_a_model_is_the_library_s() -> None:
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    helper = onnx.helper
    branch = helper.make_graph([helper.make_node("Neg", ["x"], ["z"])], "branch", [], [])
    node = helper.make_node("If", ["c"], ["y"], then_branch=branch, text="a", some=["b", "c"], third=0.5)
    info = helper.make_tensor_value_info("x", 1, ["n", None, 3])
    graph = helper.make_graph([node], "graph", [info], [info], [helper.make_tensor("w", 1, [2], [1.0, 2.0])])
    theirs = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    ours = messages.ModelProto(theirs.SerializeToString()).check()
    assert onnx.ModelProto.FromString(ours.SerializeToString()) == theirs
    shape = ours.graph.input[0].type.tensor_type.shape.dim
    assert [(each.HasField("dim_value"), each.dim_value, each.dim_param) for each in shape] == [
        (False, 0, "n"),
        (False, 0, ""),
        (True, 3, ""),
    ]
    assert ours.graph.input[0].type.WhichOneof("value") == "tensor_type"
    assert messages.TypeProto().WhichOneof("value") is None
    values = {each.name: attribute_value(each) for each in ours.graph.node[0].attribute}
    assert (values["text"], values["some"], values["third"]) == (b"a", [b"b", b"c"], 0.5)
    assert values["then_branch"].node[0].op_type == "Neg"
    copy = messages.ModelProto()
    copy.CopyFrom(ours)
    copy.producer_name, copy.graph.name = "other", "changed"
    assert onnx.ModelProto.FromString(copy.SerializeToString()).producer_name == "other"
    assert ours.producer_name == theirs.producer_name


def test_fields_are_set_and_cleared() -> None:
    tensor = messages.TensorProto(write_field(9, b"abc") + write_field(2, 1))
    assert tensor.HasField("raw_data")
    tensor.ClearField("raw_data")
    assert not tensor.HasField("raw_data")
    assert bytes(tensor.raw_data) == b""
    tensor.raw_data = b"new"
    assert tensor.SerializeToString() == write_field(2, 1) + write_field(9, b"new")
    with pytest.raises(AttributeError, match="TensorProto has no field other"):
        _ = tensor.other
    tensor.ParseFromString(write_field(8, b"w"))
    assert (tensor.name, tensor.data_type) == ("w", 0)


def test_a_node_is_made() -> None:
    node = make_node("Pad", ["x", ""], ["y"], "pad", "mine", mode="edge", pads=[1, 2], value=0.5, none=None)
    read = NodeProto(node.SerializeToString())
    assert (read.op_type, read.input, read.output, read.name, read.domain) == ("Pad", ["x", ""], ["y"], "pad", "mine")
    values = {each.name: attribute_value(each) for each in read.attribute}
    assert values == {"mode": b"edge", "pads": [1, 2], "value": 0.5}


def test_messages_of_one_field_are_merged() -> None:
    parts = (write_field(7, write_field(2, b"name")), write_field(7, write_field(10, b"text")))
    graph = messages.ModelProto(b"".join(parts)).graph
    assert (graph.name, graph.doc_string) == ("name", "text")


@pytest.mark.parametrize(
    "content",
    [
        b"\x0a",  # no length
        b"\x0a\x05abc",
        b"\x08",
        b"\x08\xff",
        b"\x08" + b"\xff" * 11,
        b"\x0b",  # a group
        b"\x0d\x01",
        b"\x02\x01a",  # field 0
        (b"\x40\x01" * 40) + b"\x40",
        (b"\x40\x01" * 40) + b"\x40" + b"\xff" * 11,
    ],
)
def test_damage_is_an_error(content: bytes) -> None:
    with pytest.raises(DecodeError):
        read_fields(memoryview(content))


def test_damage_inside_is_found_at_once() -> None:
    with pytest.raises(DecodeError):
        messages.ModelProto(write_field(7, write_field(1, b"\x0a\x05abc"))).check()
    with pytest.raises(DecodeError, match="a number is where"):
        messages.ModelProto(write_field(7, 3)).check()
    with pytest.raises(DecodeError, match="a number ends after its field"):
        read_varints(memoryview(b"\x01" * 80 + b"\xff"))
    with pytest.raises(DecodeError, match="not of its size"):
        _ = messages.TensorProto(write_field(4, b"abc")).float_data
    deep = b""
    for _ in range(60):
        deep = write_field(1, write_field(5, write_field(6, deep)))  # a node whose attribute is a graph
    with pytest.raises(DecodeError, match="more than 100 deep"):
        messages.ModelProto(write_field(7, deep)).check()


def test_numbers_are_written_as_read() -> None:
    for number in NUMBERS:
        assert read_varints(memoryview(write_varint(number))) == [number % 2**64]
    assert write_field(2, 0.5) == b"\x15" + struct.pack("<f", 0.5)
