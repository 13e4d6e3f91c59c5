"""An operation during its import, for any format: its inputs and outputs."""

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
    assert named.emit(OperationCode.NEG, x) is y


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
