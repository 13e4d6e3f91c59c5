"""Operations on images, whose paddings TFLite names by two schemes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.drivers.lowering import require
from nnapi.exporters.tflite.context import Context, lower
from nnapi.formats.tflite.graph import DTYPES, Tensor, constant
from nnapi.formats.tflite.options import pooling_options
from nnapi.formats.tflite.schema import SAME, VALID
from nnapi.model.operand import Array
from nnapi.ops.shapes import Padding, Pair, same_padding


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
    return _pad(context, x, padding, None), VALID


def _pad(context: Context, x: Tensor, padding: Padding, number: float | None) -> Tensor:
    """An image with zeros, or a number, around it."""
    around = [(0, 0), *padding, (0, 0)]
    shape = tuple(size + sum(pair) for size, pair in zip(x.shape, around, strict=True))
    if number is None:
        return context.emit("PAD", [x, constant(around)], x.like(shape=shape))
    value = x.like(shape=(1,), data=np.full(1, number, DTYPES[x.type]))
    return context.emit("PADV2", [x, constant(around), value], x.like(shape=shape))


@lower(Op.AVERAGE_POOL_2D, Op.MAX_POOL_2D, Op.L2_POOL_2D)
def pool(context: Context, input: Tensor, padding: Padding, stride: Pair, size: Pair) -> Tensor:
    """Around a maximum lies what is lower than all; of an average TFLite would count what is around."""
    scheme = scheme_of(input.shape[1:3], size, padding, stride, (1, 1))
    if scheme is None:
        require(context.kind == "MAX_POOL_2D", f"TFLite's {context.kind} counts what no scheme of its own pads")
        dtype = DTYPES[input.type]
        lowest = -np.inf if dtype.kind == "f" else np.iinfo(dtype).min
        input, scheme = _pad(context, input, padding, float(lowest)), VALID
    return context.emit(context.kind, [input], **pooling_options(scheme, stride, size), activation=context.activation)


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
    require(axis in (-1, len(input.shape) - 1), f"TFLite's L2_NORMALIZATION is along the last axis, this along {axis}")
    return context.emit("L2_NORMALIZATION", [input])


@lower(Op.LOCAL_RESPONSE_NORMALIZATION)
def local_response_normalization(
    context: Context, input: Tensor, radius: int, bias: float, alpha: float, beta: float, axis: int
) -> Tensor:
    last = axis in (-1, len(input.shape) - 1) and len(input.shape) == 4
    require(last, "TFLite's LOCAL_RESPONSE_NORMALIZATION is along the last axis of an image")
    return context.emit(context.kind, [input], radius=radius, bias=bias, alpha=alpha, beta=beta)
