"""Activations, including PRELU."""

from typing import Any

import numpy as np

from nnapi.codes import FuseCode
from nnapi.codes import OperationCode as Op
from nnapi.drivers.openvino.api import op
from nnapi.drivers.openvino.context import OpenvinoContext, activate, align, clamp_stored, lower
from nnapi.drivers.openvino.value import Value, number
from nnapi.lowering.refusal import require
from nnapi.operation_codes import Code
from nnapi.operation_codes import CompositeCode as Composite
from nnapi.ops.quantized_values import dequantize, same_quantization

COARSE = 100
"""Maximum (input scale · slope scale / result scale) of a computed slope; beyond, errors of a slope 0 show."""


LIMITS: dict[Code, FuseCode] = {Op.RELU1: FuseCode.FUSED_RELU1, Op.RELU6: FuseCode.FUSED_RELU6}

FUNCTIONS: dict[Code, Any] = {
    Op.TANH: op.tanh,
    Op.LOGISTIC: op.sigmoid,
    Op.HARD_SWISH: op.hswish,
    Composite.ERF: op.erf,
    Composite.MISH: op.mish,
    Composite.SOFTPLUS: op.softplus,
}


@lower(*FUNCTIONS)
def function(context: OpenvinoContext, input: Value) -> Value:
    return context.map(FUNCTIONS[context.code], input)


@lower(Composite.GELU)
def gelu(context: OpenvinoContext, input: Value, approximate: bool) -> Value:
    return context.map(lambda x: op.gelu(x, "tanh" if approximate else "erf"), input)


@lower(*LIMITS)
def limit(context: OpenvinoContext, input: Value) -> Value:
    to, first = LIMITS[context.code], input.is_channels_first
    (kept,) = context.call.requantized_results()
    if same_quantization(input.type, kept):
        return context.result(activate(input.real(first), to, input.type), first=first)
    quantized = clamp_stored(input.node("stored", first), to, input.type)  # floats would show bounds in a finer scale
    return Value.of(quantized, input.type, "stored", first=first)


@lower(Op.RELU)
def relu(context: OpenvinoContext, input: Value) -> Value:
    """Compute on exact floats: between quantized values and MAX_POOL_2D, RELU would move before the zero point."""
    first = input.is_channels_first
    return context.result(op.relu(input.before_rounding(first)), first=first)


@lower(Op.ELU)
def elu(context: OpenvinoContext, input: Value, alpha: float) -> Value:
    require(alpha > 0, f"alpha is {alpha}, the engine is wrong where it is not above 0")
    return context.map(lambda x: op.elu(x, alpha), input)


@lower(Op.PRELU)
def prelu(context: OpenvinoContext, input: Value, alpha: Value) -> Value:
    (x, slope), first = align([input, alpha])
    type = context.type()
    product = input.type.scale * alpha.type.scale
    require(
        alpha.array is not None or product <= COARSE * type.scale,
        f"the scales of {input.name} and {alpha.name} multiply to {product:g}, with which a slope that is next to 0 "
        f"instead of 0 gives values of scale {type.scale:g}",
    )
    if type.dimensions == input.type.dimensions and alpha.array is not None:
        steepest = np.abs(dequantize(alpha.type, alpha.array)).max() if type.is_quantized else 0
        if steepest * input.type.scale <= 1000 * type.scale:
            return context.result(op.prelu(x, slope), first=first)
    # The zero point is dequantized to a float next to 0, which a steep slope would make visible; floats have scale 0.
    at_least = number(-input.type.scale / 2)
    return context.result(op.select(op.greater_equal(x, at_least), x, op.multiply(slope, x)), first=first)
