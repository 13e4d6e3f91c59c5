"""Inputs and outputs of every kind."""

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

import nnapi  # noqa: E402
from nnapi.errors import BadDataError  # noqa: E402
from nnapi.importers.refusals import UnsupportedOperationsError  # noqa: E402


def node(kind: str, inputs: str, outputs: str, **attributes: Any) -> Any:
    return helper.make_node(kind, inputs.split(), outputs.split(), **attributes)


def content(nodes: list[Any], inputs: list[Any], outputs: list[str], constants: Any = None, opset: int = 17) -> bytes:
    tensors = [numpy_helper.from_array(np.asarray(array), name) for name, array in (constants or {}).items()]
    ends = [onnx.ValueInfoProto(name=name) for name in outputs]
    proto = helper.make_model(
        helper.make_graph(nodes, "g", inputs, ends, tensors),
        opset_imports=[helper.make_opsetid("", opset)],
        ir_version=8,
    )
    found: bytes = proto.SerializeToString()
    return found


def declared(name: str = "x", elem: int = TensorProto.FLOAT, shape: Any = (2, 3)) -> Any:
    return helper.make_tensor_value_info(name, elem, shape)


def run(model: nnapi.Model, *inputs: Any) -> list[Any]:
    return [each.tolist() for each in nnapi.compile(model, "nnapi-reference").run(*inputs)]


def test_an_output_may_be_an_input_a_constant_or_another_output() -> None:
    nodes = [node("Neg", "x", "a"), node("Identity", "a", "b"), node("Identity", "x", "c")]
    model = nnapi.load(
        content(nodes, [declared(shape=(2,))], ["a", "b", "c", "w"], {"w": np.array([5, 6], np.float32)})
    )
    assert [model.operands[index].name for index in model.outputs] == ["a", "b", "c", "w"]
    assert sorted(call.name for call in model.operations) == ["CAST", "CAST", "CAST", "NEG"]
    assert run(model, np.array([1, -2], np.float32)) == [[-1, 2], [-1, 2], [1, -2], [5, 6]]


def test_an_output_of_five_axes_has_its_shape() -> None:
    nodes = [node("Reshape", "x s", "a"), node("Relu", "a", "y")]
    model = nnapi.load(content(nodes, [declared()], ["y"], {"s": np.array([1, 2, 1, 3, 1])}))
    assert model.operands[model.outputs[0]].type.dimensions == (1, 2, 1, 3, 1)


def test_a_constant_may_be_listed_as_an_input() -> None:
    inputs, constants = [declared("w", shape=(3,)), declared()], {"w": np.array([1, 2, 3], np.float32)}
    model = nnapi.load(content([node("Add", "x w", "y")], inputs, ["y"], constants))
    assert [model.operands[index].name for index in model.inputs] == ["x"]
    assert run(model, np.zeros((2, 3), np.float32)) == [[[1, 2, 3], [1, 2, 3]]]


def test_a_scalar_has_one_element() -> None:
    model = nnapi.load(content([node("Neg", "x", "y")], [declared(shape=())], ["y"]))
    assert [model.operands[index].type.dimensions for index in (*model.inputs, *model.outputs)] == [(1,), (1,)]
    assert run(model, np.array([2], np.float32)) == [[-2]]


@pytest.mark.parametrize(
    ("elem", "notes"),
    [
        (TensorProto.FLOAT, ()),
        (TensorProto.INT32, ()),
        (TensorProto.INT64, ("int64 tensors are TENSOR_INT32",)),
        (TensorProto.INT16, ("int16 tensors are TENSOR_INT32",)),
        (TensorProto.DOUBLE, ("double tensors are TENSOR_FLOAT32",)),
    ],
)
def test_types_that_nnapi_stores_otherwise_are_noted(elem: int, notes: tuple[str, ...]) -> None:
    assert nnapi.load(content([node("Neg", "x", "y")], [declared(elem=elem)], ["y"])).notes == notes


@pytest.mark.parametrize(
    ("info", "reason"),
    [
        (helper.make_tensor_sequence_value_info("x", 1, [2]), "it is of type sequence, NNAPI has tensors only"),
        (onnx.ValueInfoProto(name="x"), "it is of type None, NNAPI has tensors only"),
        (declared(elem=TensorProto.STRING), "x is of type STRING, which NNAPI does not have"),
    ],
)
def test_other_inputs_are_refused(info: Any, reason: str) -> None:
    with pytest.raises(UnsupportedOperationsError, match=f"model input ×1 .x: {reason}"):
        nnapi.load(content([node("Neg", "x", "y")], [info], ["y"]))


def test_inputs_that_are_not_the_file_s_are_refused() -> None:
    file = content([node("Add", "x b", "y")], [declared(), declared("b")], ["y"])
    with pytest.raises(BadDataError, match="it has no input c, d; its inputs are b, x"):
        nnapi.load(file, shapes={"d": (1,), "x": (2, 3), "c": (2,)})


def test_a_file_of_a_newer_opset_is_noted() -> None:
    newest = onnx.defs.onnx_opset_version()
    for opset, noted in ((newest, False), (newest + 1, True)):
        notes = nnapi.load(content([node("Neg", "x", "y")], [declared()], ["y"], opset=opset)).notes
        note = f"the file is of opset {opset}; it is read as opset {newest}, the newest known here"
        assert notes == ((note,) if noted else ())
