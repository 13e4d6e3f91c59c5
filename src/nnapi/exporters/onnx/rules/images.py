"""Operations on images, which ONNX has with the channels in front."""

from __future__ import annotations

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.exporters.onnx.context import Context, lower
from nnapi.exporters.onnx.graph import Value, constant
from nnapi.lowering.lower import require
from nnapi.model.operand import Array
from nnapi.ops.shapes import Padding, Pair, axis_of


def pads_of(padding: Padding) -> list[int]:
    """Paddings in the order of ONNX: before each axis, then after each."""
    (top, bottom), (left, right) = padding
    return [top, left, bottom, right]


@lower(Op.AVERAGE_POOL_2D, Op.MAX_POOL_2D, Op.L2_POOL_2D)
def pool(context: Context, input: Value, padding: Padding, stride: Pair, size: Pair) -> Value:
    fits = all(before < window and after < window for (before, after), window in zip(padding, size, strict=True))
    require(fits, "its padding is as wide as the window, ONNX takes less")
    out = context.result()
    x = context.real(context.to_nchw(input))
    shape = [out.shape[axis] for axis in (0, 3, 1, 2)]
    window = {"kernel_shape": list(size), "strides": list(stride), "pads": pads_of(padding)}
    if context.kind == "MAX_POOL_2D":
        made = context.emit("MaxPool", [x], x.like(shape), **window)
    elif context.kind == "AVERAGE_POOL_2D":
        made = context.emit("AveragePool", [x], x.like(shape), **window)
    else:
        squares = context.emit("AveragePool", [context.emit("Mul", [x, x], x.like())], x.like(shape), **window)
        made = context.emit("Sqrt", [squares], squares.like())
    return context.to_nhwc(context.store(made))


@lower(Op.RESIZE_BILINEAR, Op.RESIZE_NEAREST_NEIGHBOR)
def resize(context: Context, input: Value, size: Pair, align_corners: bool, half_pixel_centers: bool) -> Value:
    """The nearest cell is the one in which a position lies, with aligned corners that whose center is nearest."""
    is_nearest = context.kind == "RESIZE_NEAREST_NEIGHBOR"
    out = context.result()
    x = context.to_nchw(input)
    x = x if is_nearest else context.real(x)
    place = "align_corners" if align_corners else "half_pixel" if half_pixel_centers else "asymmetric"
    rounding = "round_prefer_ceil" if align_corners or half_pixel_centers else "floor"
    made = context.emit(
        "Resize",
        [x, None, None, constant([*x.shape[:2], *size])],
        x.like((*x.shape[:2], *size)),
        mode="nearest" if is_nearest else "linear",
        coordinate_transformation_mode=place,
        **({"nearest_mode": rounding} if is_nearest else {}),
    )
    made = made if is_nearest else context.store(made)
    assert made.element == out.element
    return context.to_nhwc(made)


@lower(Op.DEPTH_TO_SPACE, Op.SPACE_TO_DEPTH)
def blocks(context: Context, input: Value, block_size: int) -> Value:
    out = context.result()
    kind = "DepthToSpace" if context.kind == "DEPTH_TO_SPACE" else "SpaceToDepth"
    x = context.real(context.to_nchw(input))
    shape = [out.shape[axis] for axis in (0, 3, 1, 2)]
    return context.to_nhwc(context.store(context.emit(kind, [x], x.like(shape), blocksize=block_size)))


@lower(Op.SPACE_TO_BATCH_ND)
def space_to_batch(context: Context, input: Value, block_shape: Array, paddings: Array) -> Value:
    """Decompose into Reshape and Transpose, so that the offsets within a block come first."""
    (down, across), around = map(int, block_shape), [(0, 0), *paddings.tolist(), (0, 0)]
    x = context.pad(input, around, 0)
    n, height, width, depth = x.shape
    cut = context.reshape(x, (n, height // down, down, width // across, across, depth))
    turned = context.transpose(cut, (2, 4, 0, 1, 3, 5))
    return context.reshape(turned, context.result().shape)


@lower(Op.BATCH_TO_SPACE_ND)
def batch_to_space(context: Context, input: Value, block_shape: Array) -> Value:
    down, across = map(int, block_shape)
    n, height, width, depth = input.shape
    cut = context.reshape(input, (down, across, n // (down * across), height, width, depth))
    turned = context.transpose(cut, (2, 3, 0, 4, 1, 5))
    return context.reshape(turned, context.result().shape)


@lower(Op.CHANNEL_SHUFFLE)
def channel_shuffle(context: Context, input: Value, num_groups: int, axis: int) -> Value:
    """Decompose into Reshape and Transpose: swap the axis of groups with that of their channels."""
    axis, shape = axis_of(axis, len(input.shape)), input.shape
    split = (*shape[:axis], num_groups, shape[axis] // num_groups, *shape[axis + 1 :])
    order = np.arange(len(split))
    order[[axis, axis + 1]] = axis + 1, axis
    return context.reshape(context.transpose(context.reshape(input, split), order.tolist()), shape)
