"""Operations that move elements without computing: shapes, slices, joins."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.drivers.xnnpack.context import SHIFT, UNSIGNED, Context, lower
from nnapi.formats.tflite.graph import Operator, Tensor, constant
from nnapi.lowering.lower import require
from nnapi.model.operand import Array
from nnapi.ops.pad import MODES
from nnapi.ops.shapes import axis_of


@lower(Op.RESHAPE)
def reshape(context: Context, input: Tensor, shape: Array) -> Tensor:
    return _as_result(context, input)


@lower(Op.SQUEEZE)
def squeeze(context: Context, input: Tensor, dims: Array | None) -> Tensor:
    return _as_result(context, input)


@lower(Op.EXPAND_DIMS)
def expand_dims(context: Context, input: Tensor, axis: int) -> Tensor:
    return _as_result(context, input)


def _as_result(context: Context, input: Tensor) -> Tensor:
    out = context.result()
    return context.emit("RESHAPE", [input, constant(out.shape)], out)


@lower(Op.TRANSPOSE)
def transpose(context: Context, input: Tensor, perm: Array | None) -> Tensor:
    order = range(len(input.shape))[::-1] if perm is None else perm
    return context.emit("TRANSPOSE", [input, constant(list(order))], context.result())


@lower(Op.CONCATENATION)
def concatenation(context: Context, inputs: Sequence[Tensor], axis: int) -> Tensor:
    out = context.result()
    return context.emit("CONCATENATION", [context.requantise(x, out) for x in inputs], out, axis=axis)


@lower(Op.SPLIT)
def split(context: Context, input: Tensor, axis: int, num_splits: int) -> Sequence[Tensor]:
    results = [context.result(position) for position in range(num_splits)]
    along = constant(axis_of(axis, len(input.shape)))
    context.operators.append(Operator("SPLIT", [along, input], results, {"num_splits": num_splits}))
    return results


@lower(Op.PAD)
def pad(context: Context, input: Tensor, paddings: Array) -> Tensor:
    return context.emit("PAD", [input, constant(paddings)], context.result())


@lower(Op.PAD_V2)
def pad_v2(context: Context, input: Tensor, paddings: Array, pad_value: float) -> Tensor:
    if input.type == "i8":
        shifted = int(pad_value) - (SHIFT if context.type("input").code in UNSIGNED else 0)
        require(-128 <= shifted <= 127, f"pad_value is {pad_value}, which is no code")
        value = input.like(shape=(1,), data=np.array([shifted], np.int8))
    else:
        value = context.fill(input, pad_value)
    return context.emit("PADV2", [input, constant(paddings), value], context.result())


@lower(Op.MIRROR_PAD)
def mirror_pad(context: Context, input: Tensor, paddings: Array, mode: int) -> Tensor:
    """Slices gathered along one axis after the other: the engine's own kernel, which finds the place of every element,
    takes many times as long."""
    x = input
    for axis, around in enumerate(paddings.tolist()):
        if any(around):
            places = np.pad(np.arange(x.shape[axis]), around, mode=MODES[mode])
            out = x.like(shape=(*x.shape[:axis], places.size, *x.shape[axis + 1 :]))
            x = context.emit("GATHER", [x, constant(places)], out, axis=axis)
    return _as_result(context, input) if x is input else x


@lower(Op.SLICE)
def slice_(context: Context, input: Tensor, begin: Array, size: Array) -> Tensor:
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
    out = context.result()
    kept = iter(out.shape)
    shape = tuple(1 if shrink_axis_mask >> axis & 1 else next(kept) for axis in range(len(input.shape)))
    taken = out if shape == out.shape else out.like(shape=shape)
    context.emit(
        "STRIDED_SLICE",
        [input, constant(begin), constant(end), constant(strides)],
        taken,
        begin_mask=begin_mask,
        end_mask=end_mask,
        shrink_axis_mask=0,
    )
    return taken if taken is out else context.emit("RESHAPE", [taken, constant(out.shape)], out)


@lower(Op.GATHER)
def gather(context: Context, input: Tensor, axis: int, indices: Tensor) -> Tensor:
    return context.emit("GATHER", [input, indices], context.result(), axis=axis_of(axis, len(input.shape)))


@lower(Op.TILE)
def tile(context: Context, input: Tensor, multiples: Array) -> Tensor:
    return context.emit("TILE", [input, constant(multiples)], context.result())


@lower(Op.PACK)
def pack(context: Context, inputs: Sequence[Tensor], axis: int) -> Tensor:
    out = context.result()
    given = [context.requantise(x, out) for x in inputs]
    return context.emit("PACK", given, out, count=len(given), axis=axis_of(axis, len(out.shape)))
