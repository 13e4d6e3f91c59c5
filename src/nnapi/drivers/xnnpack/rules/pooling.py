"""Pooling: one number for each window of an image."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nnapi.codes import FuseCode
from nnapi.codes import OperationCode as Op
from nnapi.drivers.windows import limit_steps
from nnapi.drivers.xnnpack.context import Context, lower
from nnapi.drivers.xnnpack.rules import whole_range
from nnapi.drivers.xnnpack.rules.convolution import same
from nnapi.formats.tflite.graph import Tensor, constant
from nnapi.formats.tflite.options import pooling_options
from nnapi.formats.tflite.schema import SAME, VALID
from nnapi.lowering.lower import require
from nnapi.ops.shapes import Padding, Pair

FAR = 256
"""Cells of padding, more than any network has, with which images of any size are taken."""


@lower(Op.AVERAGE_POOL_2D)
def average_pool_2d(context: Context, input: Tensor, padding: Padding, stride: Pair, size: Pair) -> Tensor:
    """In float32 also for codes: the engine's own kernel for those is ten times slower."""
    return context.store(
        _average(context, context.real(input), context.real_result(), padding, stride, size, context.activation)
    )


def _average(
    context: Context, x: Tensor, out: Tensor, padding: Padding, stride: Pair, size: Pair, activation: FuseCode
) -> Tensor:
    """Padded and divided here where the padding is not the engine's own, or windows are higher than the image: of the
    second one the engine then leaves out rows."""
    image = x.shape[1:3]
    stride = _steps(x, padding, stride, size)
    is_same = tuple(padding) == same(x, size, stride) and (size[0] <= image[0] or out.shape[1] == 1)
    if not any(map(any, padding)) or is_same:
        scheme = SAME if any(map(any, padding)) else VALID
        return _pool(context, "AVERAGE_POOL_2D", x, out, scheme, stride, size, activation)
    x = context.pad(x, [(0, 0), *padding, (0, 0)])
    mean = _pool(context, "AVERAGE_POOL_2D", x, out.like(), VALID, stride, size, FuseCode.FUSED_NONE)
    share = _shares(image, out.shape[1:3], padding, stride, size)
    return context.emit("MUL", [mean, share], out, activation=activation)


def _steps(x: Tensor, padding: Padding, stride: Pair, size: Pair) -> Pair:
    """The strides for the engine, which lists every cell of every window and fails where those are too many."""
    height, width = x.shape[1:3]
    for dimension, pair in zip((height, width), padding, strict=True):
        most = max(dimension, FAR)
        require(max(pair) <= most, f"{max(pair)} cells of padding beside {dimension}, the engine takes at most {most}")
    steps, _ = limit_steps((height, width), size, stride, padding)
    return steps


def _shares(image: Sequence[int], out: Sequence[int], padding: Padding, stride: Pair, size: Pair) -> Tensor:
    """For each window, its cells over those of them that lie inside the image."""
    inside = []
    for dimension, count, (before, _), step, window in zip(image, out, padding, stride, size, strict=True):
        first = np.arange(count) * step - before
        inside.append(np.minimum(first + window, dimension) - np.maximum(first, 0))
    cells = np.maximum(inside[0][:, None] * inside[1], 1)
    return constant((size[0] * size[1] / cells)[None, :, :, None], "f32")


@lower(Op.L2_POOL_2D)
def l2_pool_2d(context: Context, input: Tensor, padding: Padding, stride: Pair, size: Pair) -> Tensor:
    """Written out: the engine's own gives the largest float where a square is infinite."""
    squares = context.emit("MUL", [input, input], input.like(), activation=0)
    if size == (1, 1) and not any(map(any, padding)):
        means = _pick(context, squares, context.result(), _steps(input, padding, stride, size))
    else:
        require(
            all(step <= window for step, window in zip(stride, size, strict=True)),
            f"steps of {stride} leave gaps between windows of {size}, whose means the engine never lets be infinite",
        )
        means = _average(context, squares, context.result(), padding, stride, size, FuseCode.FUSED_NONE)
    return whole_range.root(context, means, context.result(), context.activation)


def _pick(context: Context, x: Tensor, out: Tensor, stride: Pair) -> Tensor:
    """Windows of one cell."""
    steps = constant([1, *stride, 1])
    return context.emit("STRIDED_SLICE", [x, constant([0] * 4), constant(x.shape), steps], out)


@lower(Op.MAX_POOL_2D)
def max_pool_2d(context: Context, input: Tensor, padding: Padding, stride: Pair, size: Pair) -> Tensor:
    stride = _steps(input, padding, stride, size)
    x, scheme = input, SAME if tuple(padding) == same(input, size, stride) else VALID
    if scheme == VALID and any(map(any, padding)):
        lowest = input.like(shape=(1,))
        lowest.data = np.array([-np.inf if input.type == "f32" else -128]).astype(
            np.float32 if input.type == "f32" else np.int8
        )
        around = [(0, 0), *padding, (0, 0)]
        shape = tuple(dimension + sum(pair) for dimension, pair in zip(input.shape, around, strict=True))
        x = context.emit("PADV2", [input, constant(around), lowest], input.like(shape=shape))
    return _pool(context, "MAX_POOL_2D", x, context.result(), scheme, stride, size)


def _pool(
    context: Context,
    kind: str,
    x: Tensor,
    out: Tensor,
    scheme: int,
    stride: Pair,
    size: Pair,
    activation: FuseCode | None = None,
) -> Tensor:
    activation = context.activation if activation is None else activation
    return context.emit(kind, [x], out, **pooling_options(scheme, stride, size), activation=activation)
