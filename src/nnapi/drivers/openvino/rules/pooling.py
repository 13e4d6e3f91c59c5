"""AVERAGE_POOL_2D, MAX_POOL_2D, ROI_ALIGN_V2."""

import numpy as np

from nnapi.codes import FuseCode, OperandCode
from nnapi.codes import OperationCode as Op
from nnapi.drivers.openvino.api import op
from nnapi.drivers.openvino.context import OpenvinoContext, find_maximum, lower
from nnapi.drivers.openvino.sizes import integers
from nnapi.drivers.openvino.value import Node, Value, number
from nnapi.lowering.refusal import require
from nnapi.lowering.windows import explain_too_wide, limit_steps
from nnapi.operation_codes import CompositeCode as Composite
from nnapi.ops.shapes import Padding, Pair


@lower(Op.AVERAGE_POOL_2D)
def average_pool(context: OpenvinoContext, input: Value, padding: Padding, stride: Pair, size: Pair) -> Value:
    """Add a quarter step divided by the window's size, so that halves are always rounded up. The engine rounds signed
    halves away from 0, which is one step off, and many steps in a finer scale."""
    made, kept = context.type(), context.call.requantized_results()[0]
    require(
        made.code != OperandCode.TENSOR_QUANT8_ASYMM_SIGNED or made.scale <= kept.scale,
        f"the result has steps of {kept.scale:g}, the rule's halves may be a step of {made.scale:g} off",
    )
    y = op.avg_pool(input.real(first=True), *_windows(input, padding, stride, size), list(size), True)
    if input.type.is_quantized:
        y = op.add(y, number(input.type.scale * 0.25 / (size[0] * size[1])))
    return context.result(y, first=True)


@lower(Op.MAX_POOL_2D)
def max_pool(context: OpenvinoContext, input: Value, padding: Padding, stride: Pair, size: Pair) -> Value:
    steps, begin, end = _windows(input, padding, stride, size)

    def pool(x: Node) -> Node:
        return op.max_pool(x, steps, [1, 1], begin, end, list(size)).output(0)

    x = input.real(first=True)
    y = pool(x) if input.type.is_quantized else find_maximum(x, pool)
    if context.activation == FuseCode.FUSED_NONE:
        return Value.of(y, context.type(), "real", first=True)
    return context.clamped_result(y, first=True)


def _windows(input: Value, padding: Padding, stride: Pair, size: Pair) -> tuple[list[int], list[int], list[int]]:
    """Return strides, padding before and padding after, for the engine."""
    require(not explain_too_wide(padding), explain_too_wide(padding))
    height, width = input.type.dimensions[1:3]
    steps, _ = limit_steps((height, width), size, stride, padding)
    return list(steps), [before for before, _ in padding], [after for _, after in padding]


@lower(Composite.ROI_ALIGN_V2)
def align_regions(
    context: OpenvinoContext,
    feature_map: Value,
    rois: Value,
    batch_index: Value,
    out_height: int,
    out_width: int,
    spatial_scale: float,
    samples: int,
    half_pixel: bool,
    maximum: bool,
) -> Value:
    require(not maximum, "the engine takes maxima of weighted elements")
    images = context.require_range("batch_index", batch_index, feature_map.type.dimensions[0])
    layout = "half_pixel_for_nn" if half_pixel else "asymmetric"
    numbers, x, regions = (out_height, out_width, samples, spatial_scale), feature_map.real(first=True), rois.real()
    if not half_pixel or samples:
        return context.result(op.roi_align(x, regions, images, *numbers, "avg", layout), first=True)
    is_empty = _find_empty(regions)
    regions = op.select(is_empty, op.constant(np.array([[0, 0, 1, 1]], np.float32)), regions)
    found = op.roi_align(x, regions, images, *numbers, "avg", layout)
    return context.result(op.select(op.unsqueeze(is_empty, integers([2, 3])), number(0), found), first=True)


def _find_empty(rois: Node) -> Node:
    """Return which regions have no samples if their size determines the number, of which the engine makes a list."""
    low, high = (op.gather(rois, integers(columns), integers(1)) for columns in ([0, 1], [2, 3]))
    return op.reduce_logical_or(op.less_equal(high, low), integers([1]), True)
