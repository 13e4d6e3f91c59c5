"""Operations on images, whose paddings TFLite names by two schemes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.exporters.tflite.context import Context, lower
from nnapi.exporters.tflite.rules.elementwise import along_last_axis
from nnapi.formats.tflite.graph import DTYPES, Tensor, constant
from nnapi.formats.tflite.options import pooling_options
from nnapi.formats.tflite.schema import SAME, VALID
from nnapi.model.operand import Array
from nnapi.ops.shapes import Padding, Pair, axis_of, same_padding


def scheme_of(image: Sequence[int], size: Sequence[int], padding: Padding, stride: Pair, dilation: Pair) -> int | None:
    """The scheme that gives a padding, None where none does."""
    if not any(map(any, padding)):
        return VALID
    axes = zip(image, size, stride, dilation, strict=True)
    return SAME if tuple(map(tuple, padding)) == tuple(same_padding(*axis) for axis in axes) else None


def in_scheme(
    context: Context, x: Tensor, size: Sequence[int], padding: Padding, stride: Pair, dilation: Pair
) -> tuple[Tensor, int]:
    """An image and the scheme with which it is padded, with zeros around it where no scheme does that."""
    scheme = scheme_of(x.shape[1:3], size, padding, stride, dilation)
    if scheme is not None:
        return x, scheme
    return pad(context, x, padding, None), VALID


def pad(context: Context, x: Tensor, padding: Padding, number: float | None) -> Tensor:
    """An image with zeros, or a number, around it."""
    around = [(0, 0), *padding, (0, 0)]
    shape = tuple(size + sum(pair) for size, pair in zip(x.shape, around, strict=True))
    if number is None:
        return context.emit("PAD", [x, constant(around)], x.like(shape=shape))
    value = x.like(shape=(1,), data=np.full(1, number, DTYPES[x.type]))
    return context.emit("PADV2", [x, constant(around), value], x.like(shape=shape))


@lower(Op.AVERAGE_POOL_2D, Op.MAX_POOL_2D, Op.L2_POOL_2D)
def pool(context: Context, input: Tensor, padding: Padding, stride: Pair, size: Pair) -> Tensor:
    """Around a maximum lies what is lower than all; an average is of what is not around."""
    scheme = scheme_of(input.shape[1:3], size, padding, stride, (1, 1))
    if scheme is None:
        if context.kind != "MAX_POOL_2D":
            return _mean_within(context, input, padding, stride, size)
        dtype = DTYPES[input.type]
        lowest = -np.inf if dtype.kind == "f" else np.iinfo(dtype).min
        input, scheme = pad(context, input, padding, float(lowest)), VALID
    return context.emit(context.kind, [input], **pooling_options(scheme, stride, size), activation=context.activation)


def _mean_within(context: Context, input: Tensor, padding: Padding, stride: Pair, size: Pair) -> Tensor:
    """The averages of an image with zeros around it, times what part of each window lies within the image."""
    x = context.real(input)
    is_root = context.kind == "L2_POOL_2D"
    if is_root:
        x = context.emit("MUL", [x, x], x.like(), activation=0)
    out = context.real_result()
    options = {"padding": VALID, "stride_h": stride[0], "stride_w": stride[1], "filter_h": size[0], "filter_w": size[1]}
    surrounded = pad(context, x, padding, None)
    mean = context.emit("AVERAGE_POOL_2D", [surrounded], out.like(), activation=0, **options)
    rows, columns = (
        _counts(n, window, step, before, count)
        for n, window, step, (before, _), count in zip(
            input.shape[1:3], size, stride, padding, out.shape[1:3], strict=True
        )
    )
    factors = size[0] * size[1] / (rows[:, None] * columns)[None, :, :, None]
    weighted = context.emit("MUL", [mean, constant(factors, "f32")], out.like(), activation=0)
    if is_root:
        weighted = context.emit("SQRT", [weighted], out.like())
    limit = LIMITS[context.activation]
    return context.store(context.emit(limit, [weighted], out.like()) if limit else weighted)


LIMITS = ("", "RELU", "RELU_N1_TO_1", "RELU6")
"""The operators that do what an activation does."""


def _counts(n: int, window: int, step: int, before: int, count: int) -> Array:
    """How many places of each window lie within an axis."""
    starts = np.arange(count) * step - before
    return np.minimum(starts + window, n) - np.maximum(starts, 0)


@lower(Op.RESIZE_BILINEAR, Op.RESIZE_NEAREST_NEIGHBOR)
def resize(context: Context, input: Tensor, size: Pair, align_corners: bool, half_pixel_centers: bool) -> Tensor:
    flags: dict[str, Any] = {"align_corners": bool(align_corners), "half_pixel_centers": bool(half_pixel_centers)}
    return context.emit(context.kind, [input, constant(size)], **flags)


@lower(Op.DEPTH_TO_SPACE, Op.SPACE_TO_DEPTH)
def blocks(context: Context, input: Tensor, block_size: int) -> Tensor:
    return context.emit(context.kind, [input], block_size=block_size)


@lower(Op.SPACE_TO_BATCH_ND)
def space_to_batch(context: Context, input: Tensor, block_shape: Array, paddings: Array) -> Tensor:
    return context.emit("SPACE_TO_BATCH_ND", [input, constant(block_shape), constant(paddings)])


@lower(Op.BATCH_TO_SPACE_ND)
def batch_to_space(context: Context, input: Tensor, block_shape: Array) -> Tensor:
    return context.emit("BATCH_TO_SPACE_ND", [input, constant(block_shape), constant([(0, 0), (0, 0)])])


@lower(Op.L2_NORMALIZATION)
def l2_normalization(context: Context, input: Tensor, axis: int) -> Tensor:
    return along_last_axis(context, "L2_NORMALIZATION", input, axis)


@lower(Op.LOCAL_RESPONSE_NORMALIZATION)
def local_response_normalization(
    context: Context, input: Tensor, radius: int, bias: float, alpha: float, beta: float, axis: int
) -> Tensor:
    rank = len(input.shape)
    order = [*(i for i in range(rank) if i != axis_of(axis, rank)), axis_of(axis, rank)]
    turned = context.transpose(input, order)
    image = context.reshape(turned, (1,) * (4 - rank) + turned.shape)
    options = {"radius": radius, "bias": bias, "alpha": alpha, "beta": beta}
    made = context.emit(context.kind, [image], image.like(), **options)
    back = context.transpose(context.reshape(made, turned.shape), np.argsort(order).tolist())
    return context.reshape(back, input.shape)


@lower(Op.INSTANCE_NORMALIZATION)
def instance_normalization(context: Context, input: Tensor, gamma: float, beta: float, epsilon: float) -> Tensor:
    n, _, _, channels = input.shape
    each, whole = input.like(shape=(n, 1, 1, channels)), input.like()

    def mean(x: Tensor) -> Tensor:
        return context.emit("MEAN", [x, constant([1, 2])], each.like(), keep_dims=True)

    def combine(kind: str, a: Tensor, b: Tensor) -> Tensor:
        return context.emit(kind, [a, b], (whole if whole.shape in (a.shape, b.shape) else each).like(), activation=0)

    centred = combine("SUB", input, mean(input))
    variance = combine("ADD", mean(combine("MUL", centred, centred)), context.fill(input, epsilon))
    factor = combine("MUL", context.emit("RSQRT", [variance], each.like()), context.fill(input, gamma))
    return combine("ADD", combine("MUL", centred, factor), context.fill(input, beta))


@lower(Op.CHANNEL_SHUFFLE)
def channel_shuffle(context: Context, input: Tensor, num_groups: int, axis: int) -> Tensor:
    """Written out: groups and their channels change places, in three dimensions."""
    axis, shape = axis_of(axis, len(input.shape)), input.shape
    before, after = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
    split = context.reshape(input, (before, num_groups, shape[axis] // num_groups, after))
    return context.reshape(context.transpose(split, (0, 2, 1, 3)), shape)
