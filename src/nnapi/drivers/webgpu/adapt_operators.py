"""Adapt operators that the accelerator would refuse.

A convolution may have an unsigned filter if all its tensors are unsigned, and a signed one with zero point 0 only.
Other operators take signed filters with any zero point; FULLY_CONNECTED takes no others. Few take a tensor twice.
"""

from collections.abc import Sequence

from nnapi.drivers.litert.unsigned_values import UnsignedTensors
from nnapi.formats.tflite.convolutions import Conv
from nnapi.formats.tflite.graph import Operator, Tensor, constant
from nnapi.lowering.tflite.context import flip_sign

UNSIGNED = frozenset(["CONV_2D", "DEPTHWISE_CONV_2D"])
"""Operators that become unsigned with their filters, without conversions between them."""
REPEATING = "CONCATENATION"
"""The operator that supports a repeated input."""


def adapt_operators(operators: Sequence[Operator]) -> list[Operator]:
    """Return the operators between conversions of signedness or copies of inputs; remove unused ones afterwards."""
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
    """Return the operator after copies of its repeated inputs."""
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
    """Return the operator with unsigned constants made signed."""
    if not any(tensor is not None and tensor.type == "u8" for tensor in operator.inputs):
        return operator
    return operator.like([_sign(tensor) for tensor in operator.inputs])


def _sign(tensor: Tensor | None) -> Tensor | None:
    if tensor is None or tensor.type != "u8" or tensor.data is None:
        return tensor
    return flip_sign(tensor)
