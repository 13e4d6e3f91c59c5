"""Resizing of images."""

from nnapi.codes import OperationCode as Op
from nnapi.formats.tflite.graph import Tensor, constant
from nnapi.lowering.tflite.context import TfliteContext, lower
from nnapi.ops.shapes import Pair


@lower(Op.RESIZE_BILINEAR, Op.RESIZE_NEAREST_NEIGHBOR)
def resize(context: TfliteContext, input: Tensor, size: Pair, align_corners: bool, half_pixel_centers: bool) -> Tensor:
    inputs = [input, constant(size)]
    corners, centers = bool(align_corners), bool(half_pixel_centers)
    return context.emit(context.kind, inputs, align_corners=corners, half_pixel_centers=centers)
