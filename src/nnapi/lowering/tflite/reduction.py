"""Reductions along axes."""

from nnapi.codes import OperationCode as Op
from nnapi.formats.tflite.graph import Tensor, constant
from nnapi.lowering.tflite.context import TfliteContext, lower
from nnapi.model.operand import Array
from nnapi.operation_codes import CompositeCode as Composite
from nnapi.ops.reduce import reduced_axes


@lower(Op.REDUCE_ALL, Op.REDUCE_ANY, Op.REDUCE_MAX, Op.REDUCE_MIN, Op.REDUCE_PROD)
@lower(Op.MEAN, Op.REDUCE_SUM, Composite.MEAN_V2, Composite.REDUCE_SUM_V2)
def reduce(context: TfliteContext, input: Tensor, axes: Array, keep_dims: int, out: Tensor | None = None) -> Tensor:
    """Lower a reduction. If all axes are reduced, NNAPI's result has rank 1, TensorFlow Lite's rank 0."""
    out = out or context.result()
    along = reduced_axes(len(input.shape), axes)
    if not along:
        return context.reshape(input, out.shape, out)
    is_kept = keep_dims or context.keeps_axes or len(along) == len(input.shape)
    kept = tuple(1 if axis in along else size for axis, size in enumerate(input.shape))
    reduced = out if out.shape == kept or not is_kept else out.like(shape=kept)
    context.emit(context.kind, [input, constant(along)], reduced, keep_dims=bool(is_kept))
    return out if reduced is out else context.reshape(reduced, out.shape, out)


@lower(Composite.CUMSUM)
def cumsum(context: TfliteContext, input: Tensor, axis: int, exclusive: bool, reverse: bool) -> Tensor:
    return context.emit("CUMSUM", [input, constant(axis)], exclusive=exclusive, reverse=reverse)
