"""An operation during its import, for any format: its integers, scalars, activations and shapes."""

from typing import Any

import numpy as np
import pytest

from nnapi.codes import OperandCode, OperationCode
from nnapi.importers.graph import Allowance, Graph, Value
from nnapi.importers.node import Node
from nnapi.importers.refusals import Refusal, Refused, UnsupportedOperationsError, expressible
from nnapi.model.operand import OperandType

FLOAT32, FLOAT16, INT32 = OperandCode.TENSOR_FLOAT32, OperandCode.TENSOR_FLOAT16, OperandCode.TENSOR_INT32


class Plain(Node):
    """A node of no format."""

    def __init__(self, *given: Value | None, outputs: tuple[Value, ...] = ()) -> None:
        super().__init__(Graph(Allowance(0)), "KIND", list(outputs))
        self.given = given

    @property
    def count(self) -> int:
        return len(self.given)

    def has(self, i: int) -> bool:
        return i < len(self.given) and self.given[i] is not None

    def input(self, i: int) -> Value:
        value = self.given[i]
        assert value is not None
        return value

    def note(self, message: str) -> None:
        raise AssertionError(message)  # no test notes anything


def value(*shape: int, code: OperandCode = FLOAT32, array: Any = None, name: str = "x") -> Value:
    return Value(OperandType(code, shape), name, None if array is None else np.asarray(array))


def names(node: Node) -> str:
    return " ".join(step.code.name for step in node.graph.steps)


def test_integers_of_a_constant_input() -> None:
    node = Plain(value(2, 2, code=INT32, array=[[1, -2], [3, 4]]), value(1, code=INT32, array=[7]), value(2))
    assert node.numbers(0) == [1, -2, 3, 4]
    assert node.number(1) == 7
    with pytest.raises(Refused, match="x holds 4 numbers, must be 1"):
        node.number(0)
    with pytest.raises(Refused, match="x is computed, NNAPI needs a constant"):
        node.numbers(2)
    with pytest.raises(Refused, match="x is not of integers"):
        Plain(value(1, array=[1.0])).numbers(0)
    dynamic = value(1, code=INT32, array=[-1])
    dynamic.is_dynamic_shape = True
    with pytest.raises(Refused, match="x depends on dimensions that only a run knows"):
        Plain(dynamic).numbers(0)


def test_inputs_that_are_left_out_and_outputs_that_are_missing() -> None:
    x = value(2)
    node = Plain(x, None, x)
    assert node.optional(0) is x
    assert [node.optional(i).omitted for i in (1, 3)] == [True, True]
    with pytest.raises(Refused, match="it has no output"):
        _ = node.output
    assert node.temporary(x.type, "part").name == "KIND:part"
    y = value(2, name="y")
    named = Plain(x, outputs=(y, x))
    assert (named.output, named.temporary(x.type).name) == (y, "y:step")


def test_scalars_beside_a_tensor_have_its_precision() -> None:
    node = Plain()
    assert node.real(0.5, value(2)).type.code == OperandCode.FLOAT32
    assert node.real(0.5, value(2, code=FLOAT16)).type.code == OperandCode.FLOAT16
    assert [node.flag(each).constant.tolist() for each in (1, 0, "", [0])] == [True, False, False, True]
    like = node.like(value(2, 3, code=INT32), 7)
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
    node, x, y = Plain(outputs=(value(2, name="y"),)), value(2, code=INT32), value(2, code=INT32)
    node.activate(code, x, y)
    assert names(node) == operations
    assert [step.inputs[1].constant.tolist() for step in node.graph.steps] == [[each] for each in bounds]
    assert node.graph.steps[0].inputs[0] is x
    assert node.graph.steps[-1].outputs == [y]
    real = Plain()
    real.activate(code, value(2), value(2))
    assert names(real) == code.name


def test_one_dimension_of_a_reshape_may_be_dynamic() -> None:
    node, x = Plain(), value(2, 6)
    assert node.reshape(x, (2, 6)) is x
    found = node.reshape(x, (0, 3))
    assert node.graph.steps[0].inputs[1].constant.tolist() == [-1, 3]
    assert found.shape == (4, 3)
    to = value(12)
    assert node.reshape(x, (12,), to) is to
    assert node.reshape(x, (2, 6), value(2, 6)) is not x
    assert names(node) == "RESHAPE RESHAPE RESHAPE"
    with pytest.raises(Refused, match=r"several dimensions of \[0, 0, 3\] are dynamic"):
        node.reshape(x, (0, 0, 3))


def test_dimensions_must_be_static_where_they_are_computed_with() -> None:
    assert Plain().static_shape_of(value(2, 3)) == (2, 3)
    with pytest.raises(Refused, match=r"x has dynamic dimensions \[0, 3\]"):
        Plain().static_shape_of(value(0, 3))


def test_results_have_the_type_and_shape_of_the_output_by_default() -> None:
    node = Plain(outputs=(value(2, 3, name="y"),))
    found = node.apply(OperationCode.ABS, value(2, 3))
    assert (found.type, found.name) == (OperandType(FLOAT32, (2, 3)), "y:step")
    compared = node.apply(
        OperationCode.LESS, value(4), value(4), shape=(4,), type=OperandType(OperandCode.TENSOR_BOOL8)
    )
    assert compared.type == OperandType(OperandCode.TENSOR_BOOL8, (4,))
    assert node.emit(OperationCode.NEG, value(2, 3)) is node.output
    assert names(node) == "ABS LESS NEG"


def test_refusals_are_grouped_by_operation_and_reason() -> None:
    found = [
        Refusal("ABS", "a", "why"),
        Refusal("NEG", "b", "why"),
        Refusal("ABS", "c", "why"),
        Refusal("ABS", "d", "so"),
    ]
    error = UnsupportedOperationsError.of("m", found)
    assert str(error).endswith(
        "m uses operations that NNAPI cannot express: ABS ×2 (a, c: why), NEG ×1 (b: why), ABS ×1 (d: so)"
    )
    assert error.refusals == tuple(found)
    assert Refused("first", "second").reasons == ("first", "second")
    expressible([0], "never")
    with pytest.raises(Refused, match="always"):
        expressible([], "always")
