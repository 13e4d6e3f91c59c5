"""Sums, factors and orders of channels after a linear operation: they are in its filter, and nothing else changes."""

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

import nnapi  # noqa: E402
from nnapi.codes import OperationCode as Op  # noqa: E402
from nnapi.importers.onnx.filter_folding import LINEAR  # noqa: E402

RNG = np.random.default_rng(7)


def numbers(*shape: int) -> Any:
    return RNG.uniform(-1, 1, shape).astype(np.float32)


X = numbers(2, 4, 5, 6)
CHANNELS = numbers(8, 1, 1)
CONSTANTS: dict[str, Any] = {
    "conv": numbers(8, 4, 3, 3),
    "bias": numbers(8),
    "grouped": numbers(8, 2, 3, 3),
    "depthwise": numbers(8, 1, 3, 3),
    "transposed": numbers(4, 8, 2, 2),
    "matrix": numbers(6, 8),
    "channels": CHANNELS,
    "row": CHANNELS.reshape(-1),
    "three": np.float32(3),
    "zeros": np.zeros((8, 1, 1), np.float32),
    "order": np.array([3, 0, 7, 1, 2, 5, 4, 6]),
    "other": numbers(8, 5, 6),
    "mean": numbers(8),
    "variance": np.abs(numbers(8)) + 0.1,
}
PADS: dict[str, Any] = {"pads": [1, 1, 1, 1]}
FIRST = {
    "CONV_2D": helper.make_node("Conv", ["x", "conv", "bias"], ["a"], **PADS),
    "GROUPED_CONV_2D": helper.make_node("Conv", ["x", "grouped"], ["a"], group=2, **PADS),
    "DEPTHWISE_CONV_2D": helper.make_node("Conv", ["x", "depthwise", "bias"], ["a"], group=4, **PADS),
    "TRANSPOSE_CONV_2D": helper.make_node("ConvTranspose", ["x", "transposed", "bias"], ["a"]),
    "FULLY_CONNECTED": helper.make_node("MatMul", ["x", "matrix"], ["a"]),
}


def loaded(nodes: list[Any], outputs: tuple[str, ...] = ("y",)) -> tuple[Any, nnapi.Model]:
    """A model of the nodes as the library reads it, and as it is imported."""
    read = {name for node in nodes for name in node.input}
    tensors = [numpy_helper.from_array(array, name) for name, array in CONSTANTS.items() if name in read]
    given = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, X.shape)
    graph = helper.make_graph(nodes, "g", [given], [onnx.ValueInfoProto(name=name) for name in outputs], tensors)
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return proto, nnapi.load(proto.SerializeToString())


def codes(model: nnapi.Model) -> list[str]:
    return [Op(call.code).name for call in model.operations if call.code not in (Op.TRANSPOSE, Op.RESHAPE)]


def check(proto: Any, model: nnapi.Model) -> None:
    theirs = ReferenceEvaluator(proto).run(None, {"x": X})
    for mine, other in zip(nnapi.compile(model, "nnapi-reference").run(X), theirs, strict=True):
        np.testing.assert_allclose(mine, other, 1e-5, 1e-5)


@pytest.mark.parametrize("kind", FIRST)
@pytest.mark.parametrize("last", ["Add", "Sub", "Mul", "Div", "Add one", "Mul one"])
def test_what_follows_for_each_channel_is_in_the_filter(kind: str, last: str) -> None:
    assert Op[kind] in LINEAR
    vector = "row" if kind == "FULLY_CONNECTED" else "channels"
    node = helper.make_node(last.split()[0], ["a", "three" if "one" in last else vector], ["y"])
    proto, model = loaded([FIRST[kind], node])
    assert codes(model) == [kind]
    check(proto, model)


@pytest.mark.parametrize("kind", ["CONV_2D", "TRANSPOSE_CONV_2D", "FULLY_CONNECTED"])
def test_another_order_of_channels_is_that_of_the_filter(kind: str) -> None:
    axis = 3 if kind == "FULLY_CONNECTED" else 1
    proto, model = loaded([FIRST[kind], helper.make_node("Gather", ["a", "order"], ["y"], axis=axis)])
    assert codes(model) == [kind]
    check(proto, model)
    block = [FIRST["CONV_2D"], helper.make_node("DepthToSpace", ["a"], ["y"], blocksize=2, mode="CRD")]
    proto, model = loaded(block)
    assert codes(model) == ["CONV_2D", "DEPTH_TO_SPACE"]
    check(proto, model)


def test_several_follow_each_other_and_an_activation_ends_them() -> None:
    nodes = [
        FIRST["CONV_2D"],
        helper.make_node("BatchNormalization", ["a", "row", "bias", "mean", "variance"], ["b"]),
        helper.make_node("Mul", ["three", "b"], ["c"]),
        helper.make_node("Add", ["c", "channels"], ["d"]),
        helper.make_node("Relu", ["d"], ["e"]),
        helper.make_node("Add", ["e", "channels"], ["y"]),
    ]
    proto, model = loaded(nodes)
    assert codes(model) == ["CONV_2D", "ADD"]
    check(proto, model)


@pytest.mark.parametrize(
    "nodes",
    [
        [helper.make_node("Add", ["a", "other"], ["y"])],  # no number for each channel
        [helper.make_node("Div", ["a", "zeros"], ["y"])],  # infinite
        [helper.make_node("Sub", ["channels", "a"], ["y"])],  # the other way round
        [helper.make_node("Add", ["a", "channels"], ["b"]), helper.make_node("Mul", ["a", "b"], ["y"])],  # read twice
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
def test_what_is_something_else_stays(nodes: list[Any]) -> None:
    proto, model = loaded([FIRST["CONV_2D"], *nodes])
    assert codes(model) == ["CONV_2D", *(node.op_type.upper() for node in nodes)]
    check(proto, model)


def test_an_output_of_the_model_is_what_it_was() -> None:
    proto, model = loaded([FIRST["CONV_2D"], helper.make_node("Add", ["a", "channels"], ["y"])], ("a", "y"))
    assert "ADD" in codes(model)
    check(proto, model)


def test_a_filter_of_two_operations_changes_for_one() -> None:
    second = helper.make_node("Conv", ["x", "conv", "bias"], ["b"], **PADS)
    nodes = [FIRST["CONV_2D"], second, helper.make_node("Mul", ["a", "channels"], ["c"])]
    proto, model = loaded([*nodes, helper.make_node("Concat", ["b", "c"], ["y"], axis=1)])
    assert "MUL" not in codes(model)
    check(proto, model)
