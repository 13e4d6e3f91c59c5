"""RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR."""

from nnapi.importers.tflite.node import TfliteNode
from nnapi.importers.tflite.rules import rule


@rule("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR")
def resize(node: TfliteNode) -> None:
    height, width = node.numbers(1)
    flags = (node.options.align_corners, node.options.half_pixel_centers)
    tail = [False, *flags] if any(flags) else [False] if node.kind == "RESIZE_NEAREST_NEIGHBOR" else []
    node.emit(node.code, node.input(0), node.i32(width), node.i32(height), *map(node.flag, tail))
