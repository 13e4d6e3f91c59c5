"""Rules for the accelerator, in addition to LiteRT's."""

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.drivers.litert.context import RULES as LITERT
from nnapi.drivers.litert.context import LitertContext
from nnapi.formats.tflite.graph import Tensor, constant
from nnapi.lowering.refusal import require
from nnapi.lowering.tflite.normalization import subtract_largest
from nnapi.model.operand import Array
from nnapi.ops.shapes import axis_of
from nnapi.rule_table import LoweringRules

RULES = LoweringRules(base=LITERT)
lower = RULES.register
IMAGE = 4
"""The rank in which the accelerator pads the right axes."""


@lower(Op.SOFTMAX)
def softmax(context: LitertContext, input: Tensor, beta: float, axis: int) -> Tensor:
    """Lower SOFTMAX along the last axis, with beta applied before; the accelerator supports no other."""
    x, rank = context.real(input), len(input.shape)
    require(axis_of(axis, rank) == rank - 1, f"axis is {axis}, the accelerator computes along the last one")
    x = subtract_largest(context, x, beta)
    x = context.reshape(x, (1,) * (2 - rank) + x.shape)
    return context.store(context.reshape(context.emit("SOFTMAX", [x], x.like(), beta=1.0), input.shape))


@lower(Op.PAD)
def pad(context: LitertContext, input: Tensor, paddings: Array) -> Tensor:
    """Pad in rank 4: in lower ranks the accelerator pads the wrong axes."""
    out, missing = context.result(), IMAGE - len(input.shape)
    if missing <= 0:
        return context.emit("PAD", [input, constant(paddings)], out)
    image = context.reshape(input, (1,) * missing + input.shape)
    around = np.concatenate([np.zeros((missing, 2), np.int32), paddings])
    padded = context.emit("PAD", [image, constant(around)], out.like(shape=(1,) * missing + out.shape))
    return context.emit("RESHAPE", [padded, constant(out.shape)], out)


@lower(Op.STRIDED_SLICE)
def strided_slice(
    context: LitertContext, input: Tensor, begin: Array, end: Array, strides: Array, **masks: int
) -> Tensor:
    """Lower STRIDED_SLICE with explicit bounds inside the tensor: the accelerator supports no others."""
    require((strides > 0).all(), "the accelerator slices forwards only")
    out, bounds = context.result(), []
    kept = iter(out.shape)
    for axis, (size, first, step) in enumerate(zip(input.shape, begin.tolist(), strides.tolist(), strict=True)):
        is_shrunk = masks["shrink_axis_mask"] >> axis & 1
        from_start = masks["begin_mask"] >> axis & 1 and not is_shrunk
        start = 0 if from_start else max(first + size if first < 0 else first, 0)
        count = 1 if is_shrunk else next(kept)
        bounds.append((start, start + (count - 1) * step + 1, count))
    starts, ends, shape = zip(*bounds, strict=True)
    ranges = [input, constant(starts), constant(ends), constant(strides)]
    return context.reshape(
        context.emit("STRIDED_SLICE", ranges, out.like(shape=shape), **dict.fromkeys(masks, 0)), out.shape
    )
