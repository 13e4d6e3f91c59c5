"""Many numbers to one along axes, and where the extreme lies."""

from __future__ import annotations

from nnapi.codes import OperationCode as Op
from nnapi.drivers.xnnpack.context import Context, lower
from nnapi.drivers.xnnpack.operators import LONGEST_ROW, count_row
from nnapi.formats.tflite.graph import Tensor, constant
from nnapi.model.operand import Array
from nnapi.ops.shapes import axis_of

KINDS = {"REDUCE_SUM": "SUM", "ARGMAX": "ARG_MAX", "ARGMIN": "ARG_MIN"}
INT32 = 2
"""Type of positions, in the schema's numbers."""


@lower(Op.MEAN, Op.REDUCE_ALL, Op.REDUCE_ANY, Op.REDUCE_MAX, Op.REDUCE_MIN, Op.REDUCE_PROD, Op.REDUCE_SUM)
def reduce(context: Context, input: Tensor, axes: Array, keep_dims: int) -> Tensor:
    out = context.result()
    along = sorted({axis_of(int(axis), len(input.shape)) for axis in axes})
    if not along:
        return context.emit("RESHAPE", [input, constant(out.shape)], out)
    is_long = context.operation_name == "MEAN" and count_row(input.shape, along) > LONGEST_ROW
    if is_long:
        input, out = context.real(input), context.real_result()
    kept = tuple(1 if axis in along else dimension for axis, dimension in enumerate(input.shape))
    reduced = out if out.shape == kept else out.like(shape=kept)
    context.emit(
        KINDS.get(context.operation_name, context.operation_name), [input, constant(along)], reduced, keep_dims=1
    )
    if reduced is not out:
        context.emit("RESHAPE", [reduced, constant(out.shape)], out)
    return context.store(out) if is_long else out


@lower(Op.ARGMAX, Op.ARGMIN)
def extreme_place(context: Context, input: Tensor, axis: int) -> Tensor:
    out, axis = context.result(), axis_of(axis, len(input.shape))
    kept = tuple(dimension for i, dimension in enumerate(input.shape) if i != axis)
    place = out if out.shape == kept else out.like(shape=kept)
    context.emit(KINDS[context.operation_name], [input, constant(axis)], place, type=INT32)
    return out if place is out else context.emit("RESHAPE", [place, constant(out.shape)], out)
