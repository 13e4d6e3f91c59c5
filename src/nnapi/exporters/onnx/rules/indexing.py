"""Look elements up by position or order."""

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.exporters.onnx.context import Context, lower
from nnapi.exporters.onnx.graph import Value, constant
from nnapi.exporters.onnx.reversals import bounds_of_reversal
from nnapi.ops.shapes import axis_of


@lower(Op.GATHER)
def gather(context: Context, input: Value, axis: int, indices: Value) -> Value:
    return context.move(context.kind, [input, indices], axis=axis_of(axis, len(input.shape)))


@lower(Op.SELECT)
def select(context: Context, condition: Value, a: Value, b: Value) -> Value:
    return context.move("Where", [condition, *context.in_one_scale([a, b])])


@lower(Op.ARGMAX, Op.ARGMIN)
def arg_extreme(context: Context, input: Value, axis: int) -> Value:
    out, axis = context.result(), axis_of(axis, len(input.shape))
    shape = [1 if i == axis else size for i, size in enumerate(input.shape)]
    x = context.real(input)
    found = context.emit(context.kind, [x], x.like(shape, element=np.int64), axis=axis, keepdims=1)
    return context.emit("Cast", [context.reshape(found, out.shape)], out, to=out.element)


@lower(Op.TOPK_V2)
def top_k(context: Context, input: Value, k: int) -> list[Value]:
    """Reverse rows: of equal elements, ONNX puts the first index first, NNAPI the last."""
    values, indices = context.result(0), context.result(1)
    last = len(input.shape) - 1
    x = context.real(context.emit("Slice", [input, *bounds_of_reversal([last])], input.like()))
    found, where = x.like(values.shape), x.like(values.shape, element=np.int64)
    context.emit("TopK", [x, constant([k])], found, axis=last)
    context.operators[-1].outputs.append(where)
    narrow = context.emit("Cast", [where], indices.like(), to=indices.element)
    end = constant([x.shape[last] - 1], indices.element)
    return [context.store(found), context.emit("Sub", [end, narrow], indices)]
