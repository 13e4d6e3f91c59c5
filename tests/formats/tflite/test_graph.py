"""Operators whose results nobody reads, and operators that others replace."""

from nnapi.codes import OperationCode as Op
from nnapi.drivers.litert.lowering import lower_model
from nnapi.formats.tflite.graph import Graph, Operator, Tensor, remove_dead_operators
from nnapi.model.operand import tensor
from tests.drivers.xnnpack.engine_cases import Net


def test_operators_that_nobody_reads_are_left_out() -> None:
    net = Net()
    x = net.input(tensor("float32", (2, 3)))
    unread, read = (net.call(code, [x], tensor("float32", (2, 3))) for code in (Op.TANH, Op.RELU))
    graph = lower_model(net.finished(read, unread)).graph
    graph.outputs = graph.outputs[:1]
    assert [operator.kind for operator in remove_dead_operators(graph).operators] == ["RELU"]


def test_an_operator_may_be_replaced_by_several_or_none() -> None:
    x = Tensor("f32", (1,))
    first, second, third = (Operator(kind, [x], [x.like()]) for kind in ("ABS", "NEG", "EXP"))
    graph = Graph([first, second, third], [x], third.outputs, name="g")
    changed = graph.rewrite({first: [third, second], second: []}.get)
    assert changed.operators == [third, second, third]
    assert (changed.outputs, changed.name) == (third.outputs, "g")
