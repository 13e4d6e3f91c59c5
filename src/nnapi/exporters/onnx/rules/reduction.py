"""Reductions, extremes and normalization along axes."""

from __future__ import annotations

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.exporters.onnx.context import Context, lower
from nnapi.exporters.onnx.graph import Value, constant
from nnapi.lowering.lower import require
from nnapi.model.operand import Array
from nnapi.ops.reduce import reduced_axes
from nnapi.ops.shapes import axis_of

KINDS = {
    Op.MEAN: "ReduceMean",
    Op.REDUCE_MAX: "ReduceMax",
    Op.REDUCE_MIN: "ReduceMin",
    Op.REDUCE_PROD: "ReduceProd",
    Op.REDUCE_SUM: "ReduceSum",
    Op.REDUCE_ALL: "ReduceMin",
    Op.REDUCE_ANY: "ReduceMax",
}


@lower(*KINDS)
def reduce(context: Context, input: Value, axes: Array, keep_dims: int) -> Value:
    kind = KINDS[context.call.operation.code]
    along = reduced_axes(len(input.shape), axes)
    out = context.result()
    require(out.quantized is None or kind != "ReduceMean", "its mean of quantized values is rounded down")
    is_whole = len(along) == len(input.shape) and not keep_dims  # which leaves one dimension, to ONNX none
    x = context.real(input)
    if out.element == np.bool_:
        x = context.cast(x, np.int32)
    shape = (1,) * len(x.shape) if is_whole else out.shape
    reduced = context.emit(kind, [x, constant(along)], x.like(shape), keepdims=int(bool(keep_dims) or is_whole))
    reduced = context.reshape(reduced, out.shape)
    if out.element == np.bool_:
        return context.emit("Cast", [reduced], out, to=out.element)
    return context.store(reduced)


@lower(Op.ARGMAX, Op.ARGMIN)
def arg_extreme(context: Context, input: Value, axis: int) -> Value:
    out, axis = context.result(), axis_of(axis, len(input.shape))
    kind = "ArgMax" if context.kind == "ARGMAX" else "ArgMin"
    shape = [1 if i == axis else size for i, size in enumerate(input.shape)]
    x = context.real(input)
    found = context.emit(kind, [x], x.like(shape, element=np.int64), axis=axis, keepdims=1)
    return context.emit("Cast", [context.reshape(found, out.shape)], out, to=out.element)


@lower(Op.TOPK_V2)
def top_k(context: Context, input: Value, k: int) -> list[Value]:
    """NNAPI leaves the order of equal values unspecified."""
    values, indices = context.result(0), context.result(1)
    x = context.real(input)
    found, where = x.like(values.shape), x.like(values.shape, element=np.int64)
    context.emit("TopK", [x, constant([k])], found, axis=len(x.shape) - 1)
    context.operators[-1].outputs.append(where)
    narrow = context.emit("Cast", [where], indices, to=indices.element)
    return [context.store(found, 0, activated=False), narrow]


@lower(Op.LOCAL_RESPONSE_NORMALIZATION)
def local_response_normalization(
    context: Context, input: Value, radius: int, bias: float, alpha: float, beta: float, axis: int
) -> Value:
    """ONNX normalizes float32 along the second axis and divides alpha by the size of the window."""
    rank, size = len(input.shape), 2 * radius + 1
    axis = axis_of(axis, rank)
    whole = context.reshape(input, (1,) * (4 - rank) + input.shape)
    axis_of_four = axis + 4 - rank
    order = [0, axis_of_four, *(i for i in range(1, 4) if i != axis_of_four)] if axis_of_four else [1, 0, 2, 3]
    transposed = context.cast(context.transpose(whole, order), np.float32)
    options = {"alpha": float(alpha) * size, "beta": float(beta), "bias": float(bias), "size": size}
    made = context.cast(context.emit("LRN", [transposed], transposed.like(), **options), input.element)
    return context.reshape(context.transpose(made, np.argsort(order).tolist()), input.shape)
