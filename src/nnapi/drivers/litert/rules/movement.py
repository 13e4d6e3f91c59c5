"""Movements with faster operators."""

from __future__ import annotations

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.drivers.litert.context import Context, lower
from nnapi.formats.tflite.graph import Tensor, constant
from nnapi.model.operand import Array
from nnapi.ops.pad import MODES


@lower(Op.MIRROR_PAD)
def mirror_pad(context: Context, input: Tensor, paddings: Array, mode: int) -> Tensor:
    """Lower MIRROR_PAD to GATHER per axis: the engine's own kernel takes many times as long."""
    x = input
    for axis, around in enumerate(paddings.tolist()):
        if any(around):
            positions = np.pad(np.arange(x.shape[axis]), around, mode=MODES[mode])
            out = x.like(shape=(*x.shape[:axis], positions.size, *x.shape[axis + 1 :]))
            x = context.emit("GATHER", [x, constant(positions)], out, axis=axis)
    return context.reshape(input, input.shape, context.result()) if x is input else x
