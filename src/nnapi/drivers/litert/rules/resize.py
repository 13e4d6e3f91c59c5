"""Resizes for which XNNPACK would read other pixels than NNAPI."""

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.drivers.litert.context import LitertContext, lower
from nnapi.formats.tflite.graph import Tensor, constant
from nnapi.lowering.tflite import resize as canonical
from nnapi.model.operand import Array
from nnapi.ops.shapes import Pair


@lower(Op.RESIZE_NEAREST_NEIGHBOR)
def resize_nearest_neighbor(
    context: LitertContext, input: Tensor, size: Pair, align_corners: bool, half_pixel_centers: bool
) -> Tensor:
    is_stepped = not (align_corners or half_pixel_centers)
    if is_stepped and not all(_steps_agree(*pair) for pair in zip(input.shape[1:3], size, strict=True)):
        return _gather(context, input, size)
    return canonical.resize(context, input, size, align_corners, half_pixel_centers)


def _gather(context: LitertContext, image: Tensor, size: Pair) -> Tensor:
    rows, columns = (constant(_sources(*pair)) for pair in zip(image.shape[1:3], size, strict=True))
    higher = image.like(shape=(image.shape[0], size[0], *image.shape[2:]))
    return context.emit(
        "GATHER", [context.emit("GATHER", [image, rows], higher, axis=1), columns], context.result(), axis=2
    )


def _steps_agree(dimension: int, out: int) -> bool:
    """Return whether the engine, which computes positions in 1/65536ths, reads the same pixels as NNAPI."""
    taken = np.arange(out) * ((dimension << 16) // out + 1) >> 16
    return bool((_sources(dimension, out) == np.minimum(taken, dimension - 1)).all())


def _sources(dimension: int, out: int) -> Array:
    positions = np.floor(np.arange(out, dtype=np.float32) * (np.float32(dimension) / np.float32(out)))
    sources: Array = np.minimum(positions, dimension - 1).astype(np.int32)
    return sources
