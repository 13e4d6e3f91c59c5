"""Images: NCHW in the file, NHWC in the graph. An NCW tensor is an image of height 1."""

from nnapi.importers.graph import Value
from nnapi.importers.movement import transpose
from nnapi.importers.node import Node
from nnapi.model.operand import Shape

TO_LAST, TO_FIRST = (0, 2, 3, 1), (0, 3, 1, 2)
IMAGES = (3, 4)
"""Ranks of images in the file."""


def image_shape(shape: Shape, is_nhwc: bool) -> Shape:
    n, c, *size = shape
    height, width = size if len(size) == 2 else (1, *size)
    return (n, height, width, c) if is_nhwc else (n, c, height, width)


def to_nhwc(node: Node, value: Value, shape: Shape) -> Value:
    if _order_matters(shape):
        return transpose(node, node.reshape(value, image_shape(shape, is_nhwc=False)), TO_LAST)
    return node.reshape(value, image_shape(shape, is_nhwc=True))


def to_nchw(node: Node, value: Value, shape: Shape) -> Value:
    return node.reshape(transpose(node, value, TO_FIRST) if _order_matters(shape) else value, shape)


def _order_matters(shape: Shape) -> bool:
    _, c, *size = shape
    return c != 1 and any(each != 1 for each in size)
