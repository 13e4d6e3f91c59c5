"""Activation functions."""

from nnapi.codes import OperationCode as Op
from nnapi.formats.tflite.graph import Tensor
from nnapi.lowering.refusal import require
from nnapi.lowering.tflite.context import TfliteContext, lower
from nnapi.operation_codes import CompositeCode as Composite


@lower(Op.RELU, Op.RELU1, Op.RELU6, Op.TANH, Op.LOGISTIC, Op.HARD_SWISH)
def activation(context: TfliteContext, input: Tensor) -> Tensor:
    return context.map(context.kind, input, context.result())


@lower(Op.ELU)
def elu(context: TfliteContext, input: Tensor, alpha: float) -> Tensor:
    """Compute max(x, 0) + alpha · (exp(min(x, 0)) - 1); the ELU of TensorFlow Lite has an alpha of 1."""
    require(alpha > 0, f"alpha is {alpha}: not above 0 it would act above zero as well")
    if alpha == 1:
        return context.emit("ELU", [input])
    below = context.emit("MINIMUM", [input, context.fill(input, 0)], input.like())
    below = context.emit("ELU", [below], input.like())
    below = context.emit("MUL", [below, context.fill(input, alpha)], input.like(), activation=0)
    above = context.emit("RELU", [input], input.like())
    return context.emit("ADD", [above, below], activation=0)


@lower(Op.PRELU)
def prelu(context: TfliteContext, input: Tensor, alpha: Tensor) -> Tensor:
    return context.emit("PRELU", [input, alpha])


@lower(Composite.GELU)
def gelu(context: TfliteContext, input: Tensor, approximate: bool) -> Tensor:
    return context.emit("GELU", [input], approximate=approximate)
