"""Operations that move elements, and those along axes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.exporters.tflite.context import Context, lower
from nnapi.formats.tflite.graph import DTYPES, Tensor, constant
from nnapi.lowering.lower import require
from nnapi.model.operand import Array
from nnapi.ops.shapes import axis_of

KINDS = {"REDUCE_SUM": "SUM", "ARGMAX": "ARG_MAX", "ARGMIN": "ARG_MIN"}
INT32 = 2
"""Type of positions, in the schema's numbers."""


@lower(Op.RESHAPE)
def reshape(context: Context, input: Tensor, shape: Array) -> Tensor:
    return context.emit("RESHAPE", [input, constant(shape)])


@lower(Op.SQUEEZE, Op.EXPAND_DIMS)
def reshape_to_result(context: Context, input: Tensor, dims: Array | None = None, axis: int = 0) -> Tensor:
    """TFLite lists the axes in the operator; with one open dimension at most a shape says the same."""
    out = context.result()
    return context.emit("RESHAPE", [input, constant(out.shape)], out)


@lower(Op.TRANSPOSE)
def transpose(context: Context, input: Tensor, perm: Array | None) -> Tensor:
    order = list(range(len(input.shape)))[::-1] if perm is None else perm
    return context.emit("TRANSPOSE", [input, constant(order)])


@lower(Op.CONCATENATION)
def concatenation(context: Context, inputs: Sequence[Tensor], axis: int) -> Tensor:
    return context.emit("CONCATENATION", _in_one_scale(context, inputs), axis=axis)


@lower(Op.PACK)
def pack(context: Context, inputs: Sequence[Tensor], axis: int) -> Tensor:
    given = _in_one_scale(context, inputs)
    return context.emit("PACK", given, count=len(given), axis=axis)


def _in_one_scale(context: Context, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Codes of other scales than the result's, in that."""
    type = context.call.results[0]
    out = context.result()
    return [
        x if not out.is_quantized or x.same_codes(out) else context.requantise(x, type.with_dimensions(x.shape))
        for x in inputs
    ]


@lower(Op.SPLIT)
def split(context: Context, input: Tensor, axis: int, num_splits: int) -> list[Tensor]:
    along = constant(axis_of(axis, len(input.shape)))
    return context.several("SPLIT", [along, input], num_splits, num_splits=num_splits)


@lower(Op.PAD)
def pad(context: Context, input: Tensor, paddings: Array) -> Tensor:
    return context.emit("PAD", [input, constant(paddings)])


@lower(Op.PAD_V2)
def pad_v2(context: Context, input: Tensor, paddings: Array, pad_value: float) -> Tensor:
    value = input.like(shape=(1,), data=np.full(1, pad_value, DTYPES[input.type]))
    return context.emit("PADV2", [input, constant(paddings), value])


@lower(Op.MIRROR_PAD)
def mirror_pad(context: Context, input: Tensor, paddings: Array, mode: int) -> Tensor:
    return context.emit("MIRROR_PAD", [input, constant(paddings)], mode=mode)


@lower(Op.SLICE)
def slice_block(context: Context, input: Tensor, begin: Array, size: Array) -> Tensor:
    out = context.result()
    return context.emit("SLICE", [input, constant(begin), constant(out.shape)], out)


@lower(Op.STRIDED_SLICE)
def strided_slice(
    context: Context,
    input: Tensor,
    begin: Array,
    end: Array,
    strides: Array,
    begin_mask: int,
    end_mask: int,
    shrink_axis_mask: int,
) -> Tensor:
    return context.emit(
        "STRIDED_SLICE",
        [input, constant(begin), constant(end), constant(strides)],
        begin_mask=begin_mask,
        end_mask=end_mask,
        shrink_axis_mask=shrink_axis_mask,
    )


@lower(Op.GATHER)
def gather(context: Context, input: Tensor, axis: int, indices: Tensor) -> Tensor:
    return context.emit("GATHER", [input, indices], axis=axis_of(axis, len(input.shape)))


@lower(Op.TILE)
def tile(context: Context, input: Tensor, multiples: Array) -> Tensor:
    return context.emit("TILE", [input, constant(multiples)])


@lower(Op.REVERSE)
def reverse(context: Context, input: Tensor, axis: Array) -> Tensor:
    return context.emit("REVERSE_V2", [input, constant(np.asarray(axis).reshape(-1))])


@lower(Op.TOPK_V2)
def top_k(context: Context, input: Tensor, k: int) -> list[Tensor]:
    return context.several("TOPK_V2", [input, constant(k)], 2)


@lower(Op.EMBEDDING_LOOKUP)
def embedding_lookup(context: Context, lookups: Tensor, values: Tensor) -> Tensor:
    return context.emit("EMBEDDING_LOOKUP", [lookups, values])


@lower(Op.MEAN, Op.REDUCE_ALL, Op.REDUCE_ANY, Op.REDUCE_MAX, Op.REDUCE_MIN, Op.REDUCE_PROD, Op.REDUCE_SUM)
def reduce(context: Context, input: Tensor, axes: Array, keep_dims: int) -> Tensor:
    along = sorted({axis_of(int(axis), len(input.shape)) for axis in axes})
    kind = KINDS.get(context.kind, context.kind)
    if len(along) < len(input.shape) or keep_dims:
        return context.emit(kind, [input, constant(along)], keep_dims=bool(keep_dims))
    out = context.result()  # of one dimension, where TFLite's would have none
    reduced = context.emit(kind, [input, constant(along)], out.like(shape=(1,) * len(input.shape)), keep_dims=True)
    return context.emit("RESHAPE", [reduced, constant(out.shape)], out)


@lower(Op.ARGMAX, Op.ARGMIN)
def extreme_place(context: Context, input: Tensor, axis: int) -> Tensor:
    out, axis = context.result(), axis_of(axis, len(input.shape))
    kept = tuple(size for i, size in enumerate(input.shape) if i != axis)
    require(kept, "TFLite gives a position without dimensions")
    return context.emit(KINDS[context.kind], [input, constant(axis)], out, type=INT32)
