"""Activations that XNNPACK computes faster through other operators."""

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.drivers.litert.context import LitertContext, lower
from nnapi.formats.tflite.graph import Tensor


@lower(Op.PRELU)
def prelu(context: LitertContext, input: Tensor, alpha: Tensor) -> Tensor:
    """Lower PRELU to LEAKY_RELU for one slope, to PRELU for a slope per channel, else to four operators."""
    x, slope, out = context.real(input), context.real(alpha), context.real_result()
    if slope.data is not None and slope.size == 1 and x.shape == out.shape and np.isfinite(slope.data).all():
        return context.store(context.emit("LEAKY_RELU", [x], out, alpha=slope.data.item()))
    if slope.data is not None and slope.size == slope.shape[-1] == x.shape[-1] and len(x.shape) == 4:
        slope = slope.like(shape=(1, 1, slope.size), data=slope.data.reshape(1, 1, -1))
        return context.store(context.emit("PRELU", [x, slope], out))
    below = context.combine("MUL", context.emit("MINIMUM", [x, context.fill(x, 0)], x.like()), slope)
    above = context.emit("RELU", [x], x.like())
    return context.store(context.emit("ADD", [above, below], out, activation=0))
