"""Resize images."""

from nnapi.codes import OperationCode as Op
from nnapi.exporters.onnx.context import OnnxContext, lower
from nnapi.exporters.onnx.graph import Value, constant
from nnapi.operation_codes import CompositeCode as Composite
from nnapi.ops.grid_sample import Mode, Padding
from nnapi.ops.shapes import Pair


@lower(Op.RESIZE_BILINEAR, Op.RESIZE_NEAREST_NEIGHBOR)
def resize(context: OnnxContext, input: Value, size: Pair, align_corners: bool, half_pixel_centers: bool) -> Value:
    """Emit Resize. The nearest cell is the one with the position; with aligned corners, that of nearest center."""
    is_nearest = context.code == Op.RESIZE_NEAREST_NEIGHBOR
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


@lower(Composite.GRID_SAMPLE)
def grid_sample(context: OnnxContext, input: Value, grid: Value, mode: int, padding: int, align_corners: bool) -> Value:
    x = context.to_nchw(context.real(input))
    locations = context.cast(grid, x.element)
    sampled = context.emit(
        "GridSample",
        [x, locations],
        x.like((*x.shape[:2], *grid.shape[1:-1])),
        mode=Mode(mode).name.lower(),
        padding_mode=Padding(padding).name.lower(),
        align_corners=int(align_corners),
    )
    return context.to_nhwc(context.store(sampled))
