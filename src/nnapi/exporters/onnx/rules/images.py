"""Operations on images, which are NCHW in ONNX."""

from __future__ import annotations

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.exporters.onnx.context import Context, lower
from nnapi.exporters.onnx.graph import Value, constant
from nnapi.lowering.lower import require
from nnapi.ops.shapes import Padding, Pair


def pads_of(padding: Padding) -> list[int]:
    (top, bottom), (left, right) = padding
    return [top, left, bottom, right]


@lower(Op.AVERAGE_POOL_2D, Op.MAX_POOL_2D)
def pool(context: Context, input: Value, padding: Padding, stride: Pair, size: Pair) -> Value:
    fits = all(before < window and after < window for (before, after), window in zip(padding, size, strict=True))
    require(fits, "its padding is as wide as the window, ONNX takes less")
    kind = "MaxPool" if context.kind == "MAX_POOL_2D" else "AveragePool"
    return context.on_image(kind, input, kernel_shape=list(size), strides=list(stride), pads=pads_of(padding))


@lower(Op.RESIZE_BILINEAR, Op.RESIZE_NEAREST_NEIGHBOR)
def resize(context: Context, input: Value, size: Pair, align_corners: bool, half_pixel_centers: bool) -> Value:
    """Resize; the nearest cell contains the position, with aligned corners its center is nearest."""
    is_nearest = context.kind == "RESIZE_NEAREST_NEIGHBOR"
    x = context.to_nchw(input if is_nearest else context.real(input))
    mode = "align_corners" if align_corners else "half_pixel" if half_pixel_centers else "asymmetric"
    rounding = "round_prefer_ceil" if align_corners or half_pixel_centers else "floor"
    made = context.emit(
        "Resize",
        [x, None, None, constant([*x.shape[:2], *size])],
        x.like((*x.shape[:2], *size)),
        mode="nearest" if is_nearest else "linear",
        coordinate_transformation_mode=mode,
        **({"nearest_mode": rounding} if is_nearest else {}),
    )
    return context.to_nhwc(made if is_nearest else context.store(made))


@lower(Op.DEPTH_TO_SPACE, Op.SPACE_TO_DEPTH)
def blocks(context: Context, input: Value, block_size: int) -> Value:
    kind = "DepthToSpace" if context.kind == "DEPTH_TO_SPACE" else "SpaceToDepth"
    return context.on_image(kind, input, blocksize=block_size)


@lower(Op.INSTANCE_NORMALIZATION)
def instance_normalization(context: Context, input: Value, gamma: float, beta: float, epsilon: float) -> Value:
    factors = [constant(np.full(input.shape[3], number), input.element) for number in (gamma, beta)]
    return context.on_image("InstanceNormalization", input, *factors, epsilon=float(epsilon))
