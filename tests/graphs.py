"""Small models that the tests of rules break."""

from collections.abc import Sequence
from typing import Any

from nnapi import Compilation, Memory, Model, OperandCode, OperandType, OperationCode, compile, tensor

FLOATS = tensor("float32", (2, 2))
FLAG = OperandType(OperandCode.BOOL)
NUMBER = OperandType(OperandCode.INT32)


def number(model: Model, value: int = 0, type: OperandType = NUMBER) -> int:
    """A constant scalar, the activation of an ADD for example."""
    index = model.add_operand(type)
    model.set_operand_value(index, value)
    return index


def add(model: Model, lhs: int, rhs: int, out: int) -> None:
    model.add_operation(OperationCode.ADD, [lhs, rhs, number(model)], [out])


def open_sum(type: OperandType = FLOATS) -> tuple[Model, int, int, int]:
    """A model still being built, z = x + y, with the indices of x, y and z; nothing is identified yet."""
    model = Model("sum")
    x, y, z = (model.add_operand(type, name) for name in "xyz")
    add(model, x, y, z)
    return model, x, y, z


def finished_sum(type: OperandType = FLOATS) -> Model:
    """z = x + y of two model inputs."""
    model, x, y, z = open_sum(type)
    return finished(model, [x, y], [z])


def finished(model: Model, inputs: Sequence[int], outputs: Sequence[int]) -> Model:
    model.identify_inputs_and_outputs(inputs, outputs)
    model.finish()
    return model


def sum_with(value: Any, type: OperandType = FLOATS) -> Model:
    """z = x + value, the value set by bytes or, as (memory, offset, length), from a memory."""
    model, x, y, z = open_sum(type)
    if isinstance(value, tuple) and isinstance(value[0], Memory):
        model.set_operand_value_from_memory(y, *value)
    else:
        model.set_operand_value(y, value)
    return finished(model, [x], [z])


def on_reference(model: Model) -> Compilation:
    """The model on the device whose messages the tests know."""
    return compile(model, "nnapi-reference")
