"""Nodes of ONNX files: their attributes, and dimensions of results of dynamic inputs."""

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import helper  # noqa: E402

from nnapi.codes import OperandCode, OperationCode  # noqa: E402
from nnapi.importers.graph import Allowance, Graph, Value  # noqa: E402
from nnapi.importers.onnx.emitter import shapes_of  # noqa: E402
from nnapi.importers.onnx.file_graph import FileNode  # noqa: E402
from nnapi.importers.onnx.node import OnnxNode  # noqa: E402
from nnapi.importers.onnx.schemas import find_schema  # noqa: E402
from nnapi.importers.onnx.tensors import OnnxTensor, constant  # noqa: E402
from nnapi.importers.refusals import Refused  # noqa: E402
from nnapi.model.operand import OperandType  # noqa: E402

FLOAT32 = OperandCode.TENSOR_FLOAT32
GRAPH = Graph(Allowance(0))


def x(*shape: int) -> Value:
    return Value(OperandType(FLOAT32, shape), "x")


def scalar(number: int) -> Value:
    return GRAPH.scalar(OperandCode.INT32, number)


def ints(*numbers: int) -> Value:
    return GRAPH.ints(numbers)


PADS = [scalar(number) for number in (0, 0, 0, 0, 2, 3, 3, 2, 0)]


@pytest.mark.parametrize(
    ("code", "inputs", "shape"),
    [
        (OperationCode.ABS, [x(0, 3)], (0, 3)),
        (OperationCode.ADD, [x(0, 3), x(1, 1), scalar(0)], (0, 3)),
        (OperationCode.RESHAPE, [x(0, 6), ints(-1, 2, 3)], (0, 2, 3)),
        (OperationCode.RESHAPE, [x(0, 4), ints(-1, 8)], (0, 8)),
        (OperationCode.RESHAPE, [x(0, 4), ints(6, 4)], ()),
        (OperationCode.TRANSPOSE, [x(0, 3, 4), ints(2, 0, 1)], (4, 0, 3)),
        (OperationCode.CONCATENATION, [x(0, 3), x(0, 5), scalar(1)], (0, 8)),
        (OperationCode.MAX_POOL_2D, [x(0, 9, 9, 3), *PADS], (0, 3, 4, 3)),
        (OperationCode.ABS, [x()], ()),
        (OperationCode.SOFTMAX, [x(0, 3)], ()),
    ],
)
def test_dimensions_that_two_sizes_share_are_known(code: OperationCode, inputs: list[Value], shape: Any) -> None:
    assert shapes_of(code, inputs, [OperandType(FLOAT32)]) == [shape]


def test_all_results_of_an_operation_have_dimensions() -> None:
    types = [OperandType(FLOAT32)] * 2
    assert shapes_of(OperationCode.SPLIT, [x(0, 6), scalar(1), scalar(2)], types) == [(0, 3), (0, 3)]
    assert shapes_of(OperationCode.SPLIT, [x(), scalar(1), scalar(2)], types) == [(), ()]


def made(proto: Any, *tensors: OnnxTensor | None, schema: Any = None) -> OnnxNode:
    class Conversion:
        graph = GRAPH

    return OnnxNode(Conversion(), FileNode(proto), tensors, schema)  # type: ignore[arg-type]


ALL = helper.make_node(
    "Other", ["x"], ["", "y"], i=3, f=0.5, s="text", wrong=b"\xff", ints=[1, 2], floats=[0.5], strings=["a", "b"]
)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("i", 3),
        ("f", 0.5),
        ("s", "text"),
        ("wrong", "\ufffd"),
        ("ints", [1, 2]),
        ("floats", [0.5]),
        ("strings", [b"a", b"b"]),
        ("none", "default"),
    ],
)
def test_attributes_of_every_type(name: str, value: Any) -> None:
    assert made(ALL).attribute(name, "default") == value


def test_attributes_have_the_defaults_of_the_schema() -> None:
    schema = find_schema("Gemm", 13, "")
    node = made(helper.make_node("Gemm", ["a", "b"], ["y"], transB=1), schema=schema)
    assert [node.attribute(name, 7) for name in ("transA", "transB", "alpha", "other")] == [0, 1, 1.0, 7]
    assert (node.since, made(ALL).since) == (13, 1)


def test_inputs_and_outputs_that_are_left_out() -> None:
    node = made(ALL, constant("a", np.array([1, -2])), None, OnnxTensor("c", 1, (2, 0, 3), value=x(2, 0, 3)))
    assert node.name == "y"
    assert [node.wants(i) for i in range(4)] == [False, True, False, False]
    assert [node.has(i) for i in range(4)] == [True, False, True, False]
    assert (node.count, node.shape(2), node.static_shape(0)) == (3, (2, 0, 3), (2,))
    assert node.integers(0, "ints") == [1, -2]
    assert node.integers(1, "ints") == [1, 2]
    assert node.integers(1, "none") is None
    assert node.static_size(2, 2) == 3
    for ask, reason in (
        (lambda: node.tensor(1), "input 1 is not given"),
        (lambda: node.tensor(3), "input 3 is not given"),
        (lambda: node.static_shape(2), r"c is dynamic, \[2, \?, 3\]; fix it"),
        (lambda: node.static_size(2, 1), "c is dynamic along axis 1; fix it"),
        (lambda: node.array(2), "c is computed, NNAPI needs a constant"),
    ):
        with pytest.raises(Refused, match=reason):
            ask()


def test_a_node_without_outputs_is_named_after_itself_or_its_operator() -> None:
    assert made(helper.make_node("Neg", ["x"], [""], name="n")).name == "n"
    assert made(helper.make_node("Neg", ["x"], [""])).name == "Neg"


@pytest.mark.parametrize(("axis", "found"), [(0, 0), (2, 2), (-1, 2), (-3, 0)])
def test_axes_count_from_either_end(axis: int, found: int) -> None:
    assert made(ALL).axis(axis, 3) == found


@pytest.mark.parametrize("axis", [3, -4])
def test_axes_outside_the_rank_are_refused(axis: int) -> None:
    with pytest.raises(Refused, match=f"axis {axis} is outside rank 3"):
        made(ALL).axis(axis, 3)


def test_scalars_fit_32_bits() -> None:
    node = made(ALL)
    for number in (2**31 - 1, 1 - 2**31):
        assert node.i32(number).constant == number
    for number in (2**31, -(2**31)):
        with pytest.raises(Refused, match=f"{number} does not fit 32 bits"):
            node.i32(number)
