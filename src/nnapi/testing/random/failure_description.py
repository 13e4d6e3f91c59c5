"""Describe a failure: its operations and their operands."""

from contextlib import suppress

import numpy as np

from nnapi.errors import NnapiError
from nnapi.model.operand import Array
from nnapi.testing.example import Example, OperandSpec, OperationSpec
from nnapi.testing.random.subgraphs import CONSTANTS, find_given, match_call

FEW = 8


def describe(example: Example) -> list[str]:
    """Return a line for each operation: ``#5 = MUL(lhs #0: ..., rhs #1: ..., activation 3)``."""
    lines = []
    for operation in example.main.operations:
        names = _names(example, operation)
        arguments = [f"{name} {_argument(example, index)}" for name, index in zip(names, operation.inputs, strict=True)]
        results = [f"#{i} {_type(example.main.operands[i])}" for i in operation.outputs]
        lines.append(f"{', '.join(results)} = {operation.type}({', '.join(arguments)})")
    return lines


def _names(example: Example, operation: OperationSpec) -> list[str]:
    names = [""] * len(operation.inputs)
    with suppress(NnapiError):
        for name, positions in match_call(operation, example.main.operands).inputs.items():
            for position in positions:
                names[position] = name
    return names


def _argument(example: Example, index: int) -> str:
    operand = example.main.operands[index]
    if operand.lifetime in CONSTANTS and not operand.dimensions and operand.data is not None:
        return str(operand.data.item())
    array = find_given(example, index)
    said = f"#{index} {_type(operand)}"
    return f"{said} {operand.lifetime.name.lower()}" + ("" if array is None else f" {_elements(array)}")


def _type(operand: OperandSpec) -> str:
    quantized = f" ({operand.scale:.7g}, {operand.zero_point})" if operand.scale else ""
    return f"{operand.type.removeprefix('TENSOR_').lower()}{list(operand.dimensions)}{quantized}"


def _elements(array: Array) -> str:
    if array.size and (array == array.flat[0]).all():
        return f"all {array.flat[0]}"
    shown = ", ".join(str(element) for element in array.reshape(-1)[:FEW])
    return f"{{{shown}{', …' if array.size > FEW else ''}}}" if np.size(array) else "{}"
