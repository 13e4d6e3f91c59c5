"""Reduce values along axes."""

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.exporters.onnx.context import OnnxContext, lower
from nnapi.exporters.onnx.graph import Value, constant
from nnapi.lowering.refusal import require
from nnapi.model.operand import Array
from nnapi.operation_codes import CompositeCode as Composite
from nnapi.ops.reduce import reduced_axes


@lower(Op.MEAN, Op.REDUCE_ALL, Op.REDUCE_ANY, Op.REDUCE_MAX, Op.REDUCE_MIN, Op.REDUCE_PROD, Op.REDUCE_SUM)
def reduce(context: OnnxContext, input: Value, axes: Array, keep_dims: int) -> Value:
    along = reduced_axes(len(input.shape), axes)
    out = context.result()
    require(out.quantized is None or context.code != Op.MEAN, "its mean of quantized values is rounded down")
    is_whole = len(along) == len(input.shape) and not keep_dims  # NNAPI keeps one dimension, ONNX none
    x = context.real(input)
    if out.element == np.bool_:
        x = context.cast(x, np.int32)
    shape = (1,) * len(x.shape) if is_whole else out.shape
    reduced = context.emit(context.kind, [x, constant(along)], x.like(shape), keepdims=int(bool(keep_dims) or is_whole))
    reduced = context.reshape(reduced, out.shape)
    if out.element == np.bool_:
        return context.emit("Cast", [reduced], out, to=out.element)
    return context.store(reduced)


@lower(Composite.CUMSUM)
def cumsum(context: OnnxContext, input: Value, axis: int, exclusive: bool, reverse: bool) -> Value:
    return context.compute(context.kind, input, constant(axis), exclusive=int(exclusive), reverse=int(reverse))
