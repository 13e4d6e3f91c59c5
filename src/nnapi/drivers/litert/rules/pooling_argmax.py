"""Pooling with positions and its reverse, by XNNPACK's operators.

XNNPACK numbers the cells of a window by columns. It takes the two as custom operators of MediaPipe, whose positions are
tensors of float32; XNNPACK stores the bits of integers there.
"""

from typing import NamedTuple

import numpy as np

from nnapi.codes import PaddingCode
from nnapi.drivers.litert.context import LitertContext, lower
from nnapi.formats.tflite.graph import Tensor
from nnapi.formats.tflite.schema import ARGMAX_POOLING, UNPOOLING
from nnapi.lowering.refusal import require
from nnapi.model.operand import Array
from nnapi.operation_codes import CompositeCode as Composite


class Positions(NamedTuple):
    """Positions as XNNPACK stores them, and the size of the windows."""

    stored: Tensor
    size: tuple[int, int]


@lower(Composite.ARGMAX_POOL_2D)
def argmax_pool_2d(
    context: LitertContext, input: Tensor, paddings: Array, strides: Array, size: Array, column_major: bool
) -> tuple[Tensor, Tensor]:
    require(context.has_xnnpack, "the engine has no pooling with positions")
    require(input.type == "f32", "the engine pools floats with positions")
    height, width = size.tolist()
    require(column_major or min(height, width) == 1, "the engine numbers the cells of a window by columns")
    is_adjacent = not paddings.any() and strides.tolist() == [height, width]
    require(is_adjacent, "the engine takes adjacent windows without padding")
    largest, positions = context.results(2)
    stored = positions.like(type="f32")
    context.emit_several(ARGMAX_POOLING, [input], [largest, stored], content=_write_windows(height, width))
    context.emit("BITCAST", [stored], positions)
    context.record(positions, Positions(stored, (height, width)))
    return largest, positions


@lower(Composite.MAX_UNPOOL_2D)
def max_unpool_2d(context: LitertContext, input: Tensor, positions: Tensor, size: Array, column_major: bool) -> Tensor:
    """The engine does not check positions, so they must be those of a pooling with the same windows."""
    known = context.recall(positions)
    is_safe = isinstance(known, Positions) and known.size == tuple(size.tolist())
    require(is_safe, "the engine takes only positions that it computed itself, in windows of the same size")
    require(column_major or min(known.size) == 1, "the engine numbers the cells of a window by columns")
    return context.emit(UNPOOLING, [input, known.stored], content=_write_windows(*known.size))


def _write_windows(height: int, width: int) -> bytes:
    """Return the options of both operators: padding scheme, strides, size, and five fields that are 0."""
    return np.array([PaddingCode.PADDING_VALID, width, height, width, height, *[0] * 5], "<i4").tobytes()
