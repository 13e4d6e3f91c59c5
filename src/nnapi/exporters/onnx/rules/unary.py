"""Functions of single elements."""

from nnapi.codes import OperationCode as Op
from nnapi.exporters.onnx.context import OnnxContext, lower
from nnapi.exporters.onnx.graph import Value
from nnapi.operation_codes import CompositeCode as Composite


@lower(Op.ABS, Op.EXP, Op.FLOOR, Op.LOG, Op.LOGICAL_NOT, Op.NEG, Op.SIN, Op.SQRT)
@lower(Composite.CEIL, Composite.ROUND, Composite.SIGN)
def function(context: OnnxContext, **inputs: Value) -> Value:
    return context.compute(context.kind, *inputs.values())


@lower(Op.RSQRT)
def reciprocal_root(context: OnnxContext, input: Value) -> Value:
    """Emit two operators, because the decomposition has a DIV, which accepts at most four dimensions."""
    x = context.real(input)
    return context.store(context.emit("Reciprocal", [context.emit("Sqrt", [x], x.like())], x.like()))
