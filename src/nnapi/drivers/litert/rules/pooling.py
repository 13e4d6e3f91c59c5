"""Pooling with results that may be infinite."""

import numpy as np

from nnapi.codes import FuseCode
from nnapi.codes import OperationCode as Op
from nnapi.drivers.litert.context import LitertContext, lower
from nnapi.formats.tflite.graph import Tensor, constant
from nnapi.formats.tflite.options import pooling_options
from nnapi.formats.tflite.schema import VALID
from nnapi.lowering.refusal import require
from nnapi.lowering.tflite.context import image_paddings
from nnapi.lowering.tflite.pooling import average
from nnapi.lowering.tflite.pooling import average_pool_2d as canonical_average_pool
from nnapi.lowering.tflite.pooling import max_pool_2d as max_pool
from nnapi.ops.shapes import Padding, Pair

SHRUNK = 1 / 16
"""Factor applied before a square root, as the engine computes roots of large values wrongly. Its own root is exact."""


@lower(Op.L2_POOL_2D)
def l2_pool_2d(context: LitertContext, input: Tensor, padding: Padding, stride: Pair, size: Pair) -> Tensor:
    """Decompose: the engine's L2_POOL_2D would not overflow to infinity."""
    squares, out = context.combine("MUL", input, input), context.result()
    if size == (1, 1) and not any(map(any, padding)):
        _, stride, _ = context.fit_windows(input, size, padding, stride)
        means = _pick(context, squares, out, stride)
    else:
        require(
            all(step <= window for step, window in zip(stride, size, strict=True)),
            f"steps of {stride} leave gaps between windows of {size}: the engine would not compute infinite means",
        )
        means = average(context, squares, out, padding, stride, size, FuseCode.FUSED_NONE)
    small = context.emit("MUL", [means, context.fill(means, SHRUNK)], means.like(), activation=0)
    root, restored = context.emit("SQRT", [small], means.like()), context.fill(means, SHRUNK**-0.5)
    return context.emit("MUL", [root, restored], context.result(), activation=context.activation)


@lower(Op.AVERAGE_POOL_2D)
def average_pool_2d(context: LitertContext, input: Tensor, padding: Padding, stride: Pair, size: Pair) -> Tensor:
    if _is_copy(context, input, padding, stride, size):
        return _copy(context, input)
    return canonical_average_pool(context, input, padding, stride, size)


@lower(Op.MAX_POOL_2D)
def max_pool_2d(context: LitertContext, input: Tensor, padding: Padding, stride: Pair, size: Pair) -> Tensor:
    """For float windows with gaps, pool with stride 1 and slice: the engine's result would never be infinite."""
    if _is_copy(context, input, padding, stride, size):
        return _copy(context, input)
    _, steps, _ = context.fit_windows(input, size, padding, stride)
    if input.type != "f32" or all(step <= window for step, window in zip(steps, size, strict=True)):
        return max_pool(context, input, padding, stride, size)
    x, out = context.pad(input, image_paddings(padding), context.fill(input, -np.inf)), context.result()
    if size != (1, 1):
        height, width = (count - window + 1 for count, window in zip(x.shape[1:3], size, strict=True))
        options = pooling_options(VALID, (1, 1), size)
        x = context.emit(
            "MAX_POOL_2D", [x], x.like(shape=(x.shape[0], height, width, x.shape[3])), **options, activation=0
        )
    return context.activate(_pick(context, x, out.like(), steps))


def _is_copy(context: LitertContext, input: Tensor, padding: Padding, stride: Pair, size: Pair) -> bool:
    """Return whether each window is one element. Behind a convolution and a RELU, the engine then computes anything."""
    steps = context.fit_windows(input, size, padding, stride)[1]
    return input.type == "f32" and (size, steps) == ((1, 1), (1, 1)) and not any(map(any, padding))


def _copy(context: LitertContext, input: Tensor) -> Tensor:
    return context.activate(context.reshape(input, input.shape, context.result()))


def _pick(context: LitertContext, x: Tensor, out: Tensor, stride: Pair) -> Tensor:
    steps = constant([1, *stride, 1])
    return context.emit("STRIDED_SLICE", [x, constant([0] * 4), constant(x.shape), steps], out)
