"""Movements that other operators compute faster."""

from typing import Any

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.drivers.litert.context import LitertContext, lower
from nnapi.formats.tflite.graph import Tensor, constant
from nnapi.lowering.tflite import movement as canonical
from nnapi.model.operand import Array
from nnapi.ops.pad import MODES
from nnapi.ops.slice import slice_steps


@lower(Op.MIRROR_PAD)
def mirror_pad(context: LitertContext, input: Tensor, paddings: Array, mode: int) -> Tensor:
    """Lower MIRROR_PAD to one GATHER per axis: the engine's own kernel is many times slower."""
    x = input
    for axis, around in enumerate(paddings.tolist()):
        if any(around):
            positions = np.pad(np.arange(x.shape[axis]), around, mode=MODES[mode])
            out = x.like(shape=(*x.shape[:axis], positions.size, *x.shape[axis + 1 :]))
            x = context.emit("GATHER", [x, constant(positions)], out, axis=axis)
    return context.reshape(input, input.shape, context.result()) if x is input else x


@lower(Op.STRIDED_SLICE)
def strided_slice(context: LitertContext, input: Tensor, shrink_axis_mask: int, **bounds: Any) -> Tensor:
    """Lower a slice of every n-th row and column to channels of SPACE_TO_DEPTH: XNNPACK has no slices with steps."""
    taken = slice_steps(input.shape, **bounds)
    size = taken[1].step if len(taken) == 4 and input.type == "f32" and not shrink_axis_mask else 0
    top, left = (each.start for each in taken[1:3]) if size > 1 else (0, 0)
    every = list(map(range, (0, top, left, 0), input.shape, (1, size, size, 1))) if size > 1 else []
    if taken != every or max(top, left) >= size or any(dimension % size for dimension in input.shape[1:3]):
        return canonical.strided_slice(context, input, shrink_axis_mask=shrink_axis_mask, **bounds)
    out, (n, height, width, c) = context.result(), input.shape
    blocks = input.like(shape=(n, height // size, width // size, size * size * c))
    context.emit("SPACE_TO_DEPTH", [input], blocks, block_size=size)
    begin = (0, 0, 0, (top * size + left) * c)
    return context.emit("SLICE", [blocks, constant(begin), constant(out.shape)], out)
