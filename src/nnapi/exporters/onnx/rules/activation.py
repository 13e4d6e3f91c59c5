"""Activation functions."""

from nnapi.codes import OperationCode as Op
from nnapi.exporters.onnx.context import Context, lower
from nnapi.exporters.onnx.graph import Value
from nnapi.lowering.lower import require

BOUNDS = {Op.RELU1: (-1, 1), Op.RELU6: (0, 6)}


@lower(Op.HARD_SWISH, Op.LOGISTIC, Op.RELU, Op.TANH)
def activation(context: Context, input: Value) -> Value:
    return context.compute(context.kind, input)


@lower(*BOUNDS)
def rectifier(context: Context, input: Value) -> Value:
    return context.store(context.clip(context.real(input), *BOUNDS[context.code]))


@lower(Op.PRELU)
def prelu(context: Context, input: Value, alpha: Value) -> Value:
    """ONNX broadcasts only the slope, NNAPI input and slope."""
    require(context.result().shape == input.shape, "ONNX does not stretch the input to its slope")
    return context.compute("PRelu", input, alpha)


@lower(Op.ELU)
def elu(context: Context, input: Value, alpha: float) -> Value:
    return context.compute("Elu", input, alpha=float(alpha))
