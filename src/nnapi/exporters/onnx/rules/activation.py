"""Activation functions."""

from nnapi.codes import FuseCode
from nnapi.codes import OperationCode as Op
from nnapi.exporters.onnx.context import OnnxContext, lower
from nnapi.exporters.onnx.graph import Value
from nnapi.lowering.refusal import require
from nnapi.operation_codes import CompositeCode as Composite


@lower(Op.HARD_SWISH, Op.LOGISTIC, Op.RELU, Op.TANH, Composite.ERF, Composite.MISH, Composite.SOFTPLUS)
def activation(context: OnnxContext, input: Value) -> Value:
    return context.compute(context.kind, input)


@lower(Op.RELU1, Op.RELU6)
def rectifier(context: OnnxContext, input: Value) -> Value:
    return context.store(context.activate(context.real(input), FuseCode[f"FUSED_{context.call.operation.name}"]))


@lower(Op.PRELU)
def prelu(context: OnnxContext, input: Value, alpha: Value) -> Value:
    """Emit PRelu. ONNX broadcasts only the slope, NNAPI also the input."""
    require(context.result().shape == input.shape, "ONNX does not stretch the input to its slope")
    return context.compute("PRelu", input, alpha)


@lower(Op.ELU)
def elu(context: OnnxContext, input: Value, alpha: float) -> Value:
    """Emit Elu. If alpha is not above 0, NNAPI's ELU is another function, which is exported as its decomposition."""
    require(alpha > 0, f"alpha is {alpha}, with which ONNX has another function")
    return context.compute("Elu", input, alpha=float(alpha))


@lower(Composite.GELU)
def gelu(context: OnnxContext, input: Value, approximate: bool) -> Value:
    return context.compute("Gelu", input, approximate="tanh" if approximate else "none")
