"""Pooling: one value for each window of an image."""

import numpy as np

from nnapi.codes import FuseCode
from nnapi.codes import OperationCode as Op
from nnapi.formats.tflite.graph import DTYPES, Tensor, constant
from nnapi.formats.tflite.options import pooling_options
from nnapi.formats.tflite.schema import VALID
from nnapi.lowering.tflite.context import TfliteContext, image_paddings, lower
from nnapi.ops.pooling import count_cells
from nnapi.ops.shapes import Padding, Pair


@lower(Op.AVERAGE_POOL_2D)
def average_pool_2d(context: TfliteContext, input: Tensor, padding: Padding, stride: Pair, size: Pair) -> Tensor:
    return average(context, input, context.result(), padding, stride, size, context.activation)


def average(
    context: TfliteContext, x: Tensor, out: Tensor, padding: Padding, stride: Pair, size: Pair, activation: FuseCode
) -> Tensor:
    """Append the mean of each window.

    Padding that is neither SAME nor VALID is decomposed: the zero-padded image is averaged. The means are multiplied by
    the window's size, divided by the number of its elements inside the image.
    """
    scheme, stride, _ = context.fit_windows(x, size, padding, stride)
    if scheme is not None:
        options = pooling_options(scheme, stride, size)
        return context.emit("AVERAGE_POOL_2D", [x], out, **options, activation=activation)
    surrounded = context.pad(context.real(x), image_paddings(padding))
    real, options = context.float_like(out), pooling_options(VALID, stride, size)
    mean = context.emit("AVERAGE_POOL_2D", [surrounded], real.like(), **options, activation=0)
    counts = np.maximum(count_cells(x.shape[1:3], padding, stride, size), 1)
    shares = constant(size[0] * size[1] / counts, "f32")
    context.emit("MUL", [mean, shares], real, activation=activation)
    return real if real is out else context.emit("QUANTIZE", [real], out)


@lower(Op.L2_POOL_2D)
def l2_pool_2d(context: TfliteContext, input: Tensor, padding: Padding, stride: Pair, size: Pair) -> Tensor:
    """Compute √(mean of squares) if the padding is neither SAME nor VALID."""
    scheme, steps, _ = context.fit_windows(input, size, padding, stride)
    if scheme is not None:
        options = pooling_options(scheme, steps, size)
        return context.emit("L2_POOL_2D", [input], **options, activation=context.activation)
    squares = context.combine("MUL", input, input)
    means = average(context, squares, context.result(), padding, stride, size, FuseCode.FUSED_NONE)
    return context.activate(context.map("SQRT", means))


@lower(Op.MAX_POOL_2D)
def max_pool_2d(context: TfliteContext, input: Tensor, padding: Padding, stride: Pair, size: Pair) -> Tensor:
    """Pad with the lowest value of the type if the padding is neither SAME nor VALID."""
    scheme, stride, _ = context.fit_windows(input, size, padding, stride)
    if scheme is None:
        dtype = DTYPES[input.type]
        lowest = context.fill(input, -np.inf if dtype.kind == "f" else np.iinfo(dtype).min)
        input, scheme = context.pad(input, image_paddings(padding), lowest), VALID
    return context.emit("MAX_POOL_2D", [input], **pooling_options(scheme, stride, size), activation=context.activation)
