"""Limits of functions of one element."""

from nnapi.codes import OperationCode as Op
from nnapi.drivers.litert.context import LitertContext, lower
from nnapi.formats.tflite.graph import Tensor
from nnapi.lowering.refusal import require
from nnapi.lowering.tflite import unary as canonical


@lower(Op.RSQRT)
def reciprocal_root(context: LitertContext, input: Tensor) -> Tensor:
    require(input.type != "i8", "RSQRT of quantized values may be infinite, which the engine cannot quantize")
    return canonical.reciprocal_root(context, input)
