"""Sums, factors and orders of channels after a linear operation: they are in its filter, and nothing else changes."""

from typing import Any

import numpy as np
import pytest

from tests.rows import each_row

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

import nnapi  # noqa: E402
from nnapi.codes import OperandCode  # noqa: E402
from nnapi.codes import OperationCode as Op  # noqa: E402
from nnapi.importers.graph import FLOAT32, Step, Value  # noqa: E402
from nnapi.importers.onnx.fold_into_filters import LINEAR, _accepts_constants, _change, _split  # noqa: E402
from nnapi.model.operand import OperandType  # noqa: E402

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


@each_row("kind", FIRST)
@each_row("last", ["Add", "Sub", "Mul", "Div", "Add one", "Mul one"])
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


def value(*shape: int, array: Any = None, code: OperandCode = FLOAT32) -> Value:
    if array is not None:
        array = np.asarray(array, OperandType(code).dtype)
        shape = array.shape
    return Value(OperandType(code, shape), "v", array)


COMPUTED, ROW = value(4, 3), value(array=[1, 2, 4])
INT32 = OperandCode.TENSOR_INT32
LAST, ORDER = value(array=1, code=INT32), value(array=[2, 0, 1], code=INT32)


def step(code: Op, *inputs: Value, shape: tuple[int, ...] = (4, 3)) -> Step:
    return Step(code, list(inputs), [value(*shape)])


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (step(Op.ADD, COMPUTED, ROW), [1, 2, 4]),
        (step(Op.ADD, ROW, COMPUTED), [1, 2, 4]),
        (step(Op.MUL, ROW, COMPUTED), [1, 2, 4]),
        (step(Op.SUB, COMPUTED, ROW), [1, 2, 4]),
        (step(Op.DIV, COMPUTED, value(array=[[2]])), [2]),
        (step(Op.DIV, COMPUTED, value(array=[[1, 2, 4]])), [1, 2, 4]),
        (step(Op.SUB, ROW, COMPUTED), None),
        (step(Op.DIV, ROW, COMPUTED), None),
        (step(Op.ADD, COMPUTED, COMPUTED), None),
        (step(Op.ADD, ROW, ROW), None),
        (step(Op.MAXIMUM, COMPUTED, ROW), None),
        (step(Op.ADD, COMPUTED, value(array=[1, 2, 4], code=OperandCode.TENSOR_FLOAT16)), None),
        (step(Op.ADD, COMPUTED, ROW, shape=(2, 4, 3)), None),
        (step(Op.GATHER, COMPUTED, LAST, ORDER), [2, 0, 1]),
        (step(Op.GATHER, COMPUTED, value(array=-1, code=INT32), ORDER), [2, 0, 1]),
        (step(Op.GATHER, COMPUTED, value(array=0, code=INT32), ORDER), None),
        (step(Op.GATHER, COMPUTED, value(1, code=INT32), ORDER), None),
        (step(Op.GATHER, ROW, value(array=0, code=INT32), ORDER), None),
        (step(Op.GATHER, value(), LAST, ORDER), None),
        (step(Op.GATHER, COMPUTED, LAST, value(array=[[2, 0]], code=INT32)), None),
    ],
)
def test_a_step_has_numbers_for_each_channel(given: Step, expected: list[int] | None) -> None:
    found, numbers = _split(given)
    if expected is None:
        assert found is None
        return
    assert found is COMPUTED
    assert numbers is not None
    assert numbers.tolist() == expected


def test_numbers_along_another_axis_are_not_those_of_channels() -> None:
    assert _split(step(Op.ADD, COMPUTED, value(array=[[1], [2], [3], [4]]))) == (COMPUTED, None)


FILTER, BIAS = [[1, 2, 3], [-4, 5, 6]], [10, -20]
LINE = step(Op.FULLY_CONNECTED, value(4, 3), value(array=FILTER), value(array=BIAS))
DEPTHWISE = step(
    Op.DEPTHWISE_CONV_2D, value(1, 4, 4, 2), value(array=np.arange(8).reshape(1, 2, 2, 2)), value(array=BIAS)
)


@pytest.mark.parametrize(
    ("code", "numbers", "filter", "bias"),
    [
        (Op.ADD, [1, 2], FILTER, [11, -18]),
        (Op.SUB, [1, 2], FILTER, [9, -22]),
        (Op.SUB, [5], FILTER, [5, -25]),
        (Op.MUL, [2, -1], [[2, 4, 6], [4, -5, -6]], [20, 20]),
        (Op.MUL, [0], [[0, 0, 0], [0, 0, 0]], [0, 0]),
        (Op.DIV, [2, -4], [[0.5, 1, 1.5], [1, -1.25, -1.5]], [5, 5]),
        (Op.GATHER, [1, 0], FILTER[::-1], BIAS[::-1]),
        (Op.GATHER, [1, 1], [FILTER[1]] * 2, [BIAS[1]] * 2),
    ],
)
def test_a_filter_and_its_bias_change(code: Op, numbers: list[float], filter: Any, bias: Any) -> None:
    dtype = np.int32 if code == Op.GATHER else np.float32
    changed = _change(step(code, COMPUTED), LINE, np.array(numbers, dtype))
    assert changed is not None
    assert [each.tolist() for each in changed] == [filter, bias]
    assert {each.dtype for each in changed} == {np.dtype(np.float32)}


@pytest.mark.parametrize(
    ("code", "numbers", "maker"),
    [
        (Op.ADD, [1, 2, 3], LINE),
        (Op.MUL, [1, 2, 3], LINE),
        (Op.DIV, [2, 0], LINE),
        (Op.MUL, [1e38, 1], LINE),
        (Op.GATHER, [1, 0, 1], LINE),
        (Op.GATHER, [-1, 0], LINE),
        (Op.GATHER, [2, 0], LINE),
        (Op.GATHER, [1, 0], DEPTHWISE),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_other_numbers_stay_outside_the_filter(code: Op, numbers: list[float], maker: Step) -> None:
    dtype = np.int32 if code == Op.GATHER else np.float32
    assert _change(step(code, COMPUTED), maker, np.array(numbers, dtype)) is None


def test_the_last_axis_of_a_depthwise_filter_has_the_channels() -> None:
    changed = _change(step(Op.MUL, COMPUTED), DEPTHWISE, np.array([2, 3], np.float32))
    assert changed is not None
    assert changed[0].tolist() == [[[[0, 3], [4, 9]], [[8, 15], [12, 21]]]]


NONE, RELU = (Value(OperandType(OperandCode.INT32), "", np.array(number, np.int32)) for number in (0, 1))
DEEP = value(array=FILTER)


@pytest.mark.parametrize(
    ("inputs", "shape", "last", "accepts"),
    [
        ([value(4, 3), DEEP, value(array=BIAS), NONE], (4, 2), (4, 2), True),
        ([value(4, 3), DEEP, value(array=BIAS), NONE], (4, 2), (2, 2, 2), True),
        ([value(4, 3), DEEP, value(array=BIAS), NONE], (4, 2), (2, 4), False),
        ([value(4, 3), DEEP, value(array=BIAS), RELU], (4, 2), (4, 2), False),
        ([value(4, 3), DEEP, value(array=BIAS)], (4, 2), (4, 2), False),
        ([value(4, 3), value(2, 3), value(array=BIAS), NONE], (4, 2), (4, 2), False),
        ([value(4, 3), DEEP, value(2), NONE], (4, 2), (4, 2), False),
        ([value(4, 3), DEEP, value(array=BIAS), value(array=[0], code=INT32)], (4, 2), (4, 2), False),
    ],
)
def test_operations_that_take_numbers_into_their_filter(inputs: Any, shape: Any, last: Any, accepts: bool) -> None:
    maker = step(Op.FULLY_CONNECTED, *inputs, shape=shape)
    reshaped = maker if shape == last else step(Op.RESHAPE, maker.outputs[0], shape=last)
    assert _accepts_constants(maker, reshaped) == accepts
    assert not _accepts_constants(step(Op.BATCH_MATMUL, *inputs, shape=shape), maker)
