"""Functions of single elements."""

from nnapi.codes import OperationCode as Op
from nnapi.formats.tflite.graph import Tensor
from nnapi.lowering.tflite.context import TfliteContext, lower
from nnapi.operation_codes import CompositeCode as Composite


@lower(Op.ABS, Op.EXP, Op.FLOOR, Op.LOG, Op.LOGICAL_NOT, Op.NEG, Op.SIN, Op.SQRT)
@lower(Composite.CEIL, Composite.ROUND, Composite.SIGN)
def function(context: TfliteContext, **operands: Tensor) -> Tensor:
    (input,) = operands.values()
    return context.map(context.kind, input, context.result())


@lower(Op.RSQRT)
def reciprocal_root(context: TfliteContext, input: Tensor) -> Tensor:
    """Compute in float32: TensorFlow Lite's RSQRT supports only signed quantized values, and rounds differently."""
    return context.store(context.map("RSQRT", context.real(input), context.real_result()))
