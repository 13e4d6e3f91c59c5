"""Operations that are appended to the graph of an import, with their scalars, constants and temporaries."""

import pytest

from nnapi.codes import OperandCode, OperationCode
from nnapi.importers.graph import Allowance, Graph, Value
from nnapi.importers.graph_emitter import GraphEmitter
from nnapi.importers.refusals import Refused
from nnapi.model.operand import OperandType

FLOAT32, FLOAT16, INT32 = OperandCode.TENSOR_FLOAT32, OperandCode.TENSOR_FLOAT16, OperandCode.TENSOR_INT32


def plain() -> GraphEmitter:
    return GraphEmitter(Graph(Allowance(0)), "y")


def value(*shape: int, code: OperandCode = FLOAT32) -> Value:
    return Value(OperandType(code, shape), "x")


def names(emitter: GraphEmitter) -> str:
    return " ".join(step.code.name for step in emitter.graph.steps)


def test_scalars_beside_a_tensor_have_its_precision() -> None:
    emitter = plain()
    assert emitter.real(0.5).type.code == emitter.real(0.5, value(2)).type.code == OperandCode.FLOAT32
    assert emitter.real(0.5, value(2, code=FLOAT16)).type.code == OperandCode.FLOAT16
    assert [emitter.flag(each).constant.tolist() for each in (1, 0, "", [0])] == [True, False, False, True]
    like = emitter.like(value(2, 3, code=INT32), 7)
    assert (like.type, like.constant.tolist()) == (OperandType(INT32, (1,)), [7])


@pytest.mark.parametrize(
    ("code", "operations", "bounds"),
    [
        (OperationCode.RELU, "MAXIMUM", [0]),
        (OperationCode.RELU1, "MAXIMUM MINIMUM", [-1, 1]),
        (OperationCode.RELU6, "MAXIMUM MINIMUM", [0, 6]),
    ],
)
def test_activations_of_integers_are_limits(code: OperationCode, operations: str, bounds: list[int]) -> None:
    emitter, x, y = plain(), value(2, code=INT32), value(2, code=INT32)
    emitter.activate(code, x, y)
    assert names(emitter) == operations
    assert [step.inputs[1].constant.tolist() for step in emitter.graph.steps] == [[each] for each in bounds]
    assert emitter.graph.steps[0].inputs[0] is x
    assert emitter.graph.steps[-1].outputs == [y]
    real = plain()
    real.activate(code, value(2), value(2))
    assert names(real) == code.name


def test_one_dimension_of_a_reshape_may_be_dynamic() -> None:
    emitter, x = plain(), value(2, 6)
    assert emitter.reshape(x, (2, 6)) is x
    found = emitter.reshape(x, (0, 3))
    assert emitter.graph.steps[0].inputs[1].constant.tolist() == [-1, 3]
    assert found.shape == (4, 3)
    to = value(12)
    assert emitter.reshape(x, (12,), to) is to
    assert emitter.reshape(x, (2, 6), value(2, 6)) is not x
    assert names(emitter) == "RESHAPE RESHAPE RESHAPE"
    with pytest.raises(Refused, match=r"several dimensions of \[0, 0, 3\] are dynamic"):
        emitter.reshape(x, (0, 0, 3))


def test_dimensions_must_be_static_where_they_are_computed_with() -> None:
    assert plain().static_shape_of(value(2, 3)) == (2, 3)
    with pytest.raises(Refused, match=r"x has dynamic dimensions \[0, 3\]"):
        plain().static_shape_of(value(0, 3))


def test_results_have_the_type_of_the_first_input_by_default() -> None:
    emitter = plain()
    found = emitter.apply(OperationCode.ABS, value(2, 3))
    assert (found.type, found.name) == (OperandType(FLOAT32, (2, 3)), "y:step")
    compared = emitter.apply(
        OperationCode.LESS, value(4), value(4), shape=(4,), type=OperandType(OperandCode.TENSOR_BOOL8)
    )
    assert compared.type == OperandType(OperandCode.TENSOR_BOOL8, (4,))
    to = value(2, 3)
    assert emitter.emit(OperationCode.NEG, value(2, 3), to=to) is to
    assert names(emitter) == "ABS LESS NEG"
