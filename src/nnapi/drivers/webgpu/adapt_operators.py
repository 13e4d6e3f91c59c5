"""Adapt operators that the accelerator would refuse.

Convolutions take an unsigned filter if all their tensors are unsigned, and a signed filter if its zero point is 0.
Other operators take signed filters with any zero point, and FULLY_CONNECTED takes only these. Few take a tensor twice.
"""

from collections.abc import Sequence

from nnapi.drivers.litert.unsigned_values import UnsignedTensors
from nnapi.formats.tflite.convolutions import Conv
from nnapi.formats.tflite.graph import Operator, Tensor, constant
from nnapi.lowering.tflite.context import flip_sign

UNSIGNED = frozenset(["CONV_2D", "DEPTHWISE_CONV_2D"])
"""Operators that become unsigned if their filter is, with no conversions between two of them."""
REPEATING = "CONCATENATION"
"""The operator that supports repeated inputs."""


def adapt_operators(operators: Sequence[Operator]) -> list[Operator]:
    """Return adapted operators, with conversions and copies between them; remove unused operators afterwards."""
    adapted: list[Operator] = []
    unsigned = UnsignedTensors()
    for operator in operators:
        if operator.kind in UNSIGNED and Conv(operator).unsigned_filter is not None:
            source, result = operator.input(0), operator.output
            if source not in unsigned:
                adapted.append(Operator("QUANTIZE", [source], [unsigned(source)]))
            adapted += [unsigned.rewrite(operator), Operator("QUANTIZE", [unsigned(result)], [result])]
        else:
            adapted += copy_repeated_inputs(sign_constants(operator))
    return adapted


def copy_repeated_inputs(operator: Operator) -> list[Operator]:
    """Return the operator, after operators that copy its repeated inputs."""
    if operator.kind == REPEATING or len(set(operator.inputs)) == len(operator.inputs):
        return [operator]
    inputs: list[Tensor | None] = []
    copies = []
    for tensor in operator.inputs:
        if tensor is not None and not tensor.is_constant and tensor in inputs:
            copy = tensor.like()
            copies.append(Operator("RESHAPE", [tensor, constant(tensor.shape)], [copy]))
            tensor = copy
        inputs.append(tensor)
    return [*copies, operator.like(inputs)]


def sign_constants(operator: Operator) -> Operator:
    """Return the operator with its unsigned constants as signed ones."""
    if not any(tensor is not None and tensor.type == "u8" for tensor in operator.inputs):
        return operator
    return operator.like([_sign(tensor) for tensor in operator.inputs])


def _sign(tensor: Tensor | None) -> Tensor | None:
    if tensor is None or tensor.type != "u8" or tensor.data is None:
        return tensor
    return flip_sign(tensor)
