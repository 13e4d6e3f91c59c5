"""Names that nothing writes before they are read, each named by one error."""

from typing import Any

import pytest

pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import TensorProto, helper

import nnapi
from nnapi.errors import BadDataError
from nnapi.importers.onnx.decode import declare, decode
from nnapi.importers.onnx.file_graph import Declared
from nnapi.importers.refusals import UnsupportedOperationsError


def graph(*nodes: Any, inputs: tuple[str, ...] = ("x",), outputs: tuple[str, ...] = ("y",)) -> Any:
    def described(names: tuple[str, ...]) -> list[Any]:
        return [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in names]

    return helper.make_graph(list(nodes), "g", described(inputs), described(outputs))


def node(kind: str, inputs: str, outputs: str, **attributes: Any) -> Any:
    return helper.make_node(kind, inputs.split(), outputs.split(), **attributes)


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([node("Add", "x b", "a"), node("Neg", "a", "b"), node("Neg", "b", "y")], "Add a reads b before it is written"),
        ([node("Add", "x y", "y")], "Add y reads its own output y"),
        ([node("Add", "x nowhere", "y")], "Add y reads nowhere, which is not an input or a constant"),
        ([node("Neg", "x", "z")], "nothing writes the output y"),
    ],
)
def test_an_undefined_name_is_damage(nodes: list[Any], message: str) -> None:
    proto = helper.make_model(graph(*nodes), opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    with pytest.raises(BadDataError, match=message) as caught:
        nnapi.load(proto.SerializeToString())
    assert not isinstance(caught.value, UnsupportedOperationsError)


def test_subgraphs_see_the_names_around_them() -> None:
    def model(*nodes: Any) -> Any:
        return helper.make_model(graph(*nodes, inputs=("x", "c")))

    then = graph(node("Neg", "a", "t"), inputs=(), outputs=("t",))
    otherwise = graph(node("Abs", "later", "e"), inputs=(), outputs=("e",))
    nodes = [node("Relu", "x", "a"), node("If", "c", "y", then_branch=then, else_branch=then)]
    decode(model(*nodes))
    wrong = node("If", "c", "y", then_branch=then, else_branch=otherwise)
    with pytest.raises(BadDataError, match="Abs e reads later"):
        decode(model(nodes[0], wrong, node("Neg", "x", "later")))


def test_an_undefined_name_in_a_function_is_damage() -> None:
    body = [node("Add", "X b", "a"), node("Neg", "a", "b"), node("Neg", "b", "Y")]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    function = helper.make_function("local", "F", ["X"], ["Y"], body, opsets[:1])
    proto = helper.make_model(
        graph(node("F", "x", "y", domain="local")), functions=[function], opset_imports=opsets, ir_version=8
    )
    with pytest.raises(BadDataError, match="Add a reads b before it is written") as caught:
        nnapi.load(proto.SerializeToString())
    assert not isinstance(caught.value, UnsupportedOperationsError)


def test_declarations() -> None:
    info = helper.make_tensor_value_info("x", 1, [2, "n", None, 3])
    info.type.tensor_type.shape.dim.add().dim_value = -1
    assert declare(info) == Declared("x", "tensor_type", 1, (2, 0, 0, 3, 0), False)
    assert declare(helper.make_tensor_value_info("y", 7, [0, "n"])) == Declared("y", "tensor_type", 7, (0, 0), True)
    assert declare(helper.make_tensor_value_info("z", 1, None)) == Declared("z", "tensor_type", 1, None, False)
    text = helper.make_tensor_sequence_value_info("s", 1, [2])
    assert declare(text) == Declared("s", "sequence_type", 0, None, False)
