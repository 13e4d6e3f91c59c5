"""Images: NCHW in the file, NHWC in the graph. An NCW tensor is an image of height 1. Volumes have a depth, too."""

from nnapi.importers.graph import Value
from nnapi.importers.graph_emitter import GraphEmitter
from nnapi.model.operand import Shape

TO_FIRST = (0, 3, 1, 2)
IMAGES = (3, 4)
"""Ranks of images in the file."""
VOLUME = 5
"""The rank of volumes."""


def channels_last(rank: int) -> tuple[int, ...]:
    """Return the order of axes that moves the channels of an image or a volume to the end."""
    return (0, *range(2, rank), 1)


def image_shape(shape: Shape, is_nhwc: bool) -> Shape:
    n, c, *size = shape
    size = size if len(size) > 1 else [1, *size]
    return (n, *size, c) if is_nhwc else (n, c, *size)


def to_nhwc(emitter: GraphEmitter, value: Value, shape: Shape) -> Value:
    if _order_matters(shape):
        first = image_shape(shape, is_nhwc=False)
        return emitter.transpose(emitter.reshape(value, first), channels_last(len(first)))
    return emitter.reshape(value, image_shape(shape, is_nhwc=True))


def to_nchw(emitter: GraphEmitter, value: Value, shape: Shape) -> Value:
    last = value.rank - 1
    moved = emitter.transpose(value, (0, last, *range(1, last))) if _order_matters(shape) else value
    return emitter.reshape(moved, shape)


def _order_matters(shape: Shape) -> bool:
    _, c, *size = shape
    return c != 1 and any(each != 1 for each in size)
