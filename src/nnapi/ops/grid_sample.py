"""GRID_SAMPLE: pixels of an image at computed locations, interpolated.

The grid has x and y of each location: -1 and 1 are the centers of the outer pixels with ``align_corners``, else their
outer edges. Pixels outside the image are zeros, the nearest pixel of the border, or those reflected at the border.
"""

from collections.abc import Iterator
from enum import IntEnum

import numpy as np

from nnapi.codes import OperandCode
from nnapi.errors import need
from nnapi.model.facts import Facts, Kind
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import Scalar, Tensor, one_of
from nnapi.model.proposal import Draw, Proposal
from nnapi.operation_codes import CompositeCode
from nnapi.ops.shapes import need_image
from nnapi.ops.signature_types import INT32, floats, numbers


class Mode(IntEnum):
    NEAREST = 0
    LINEAR = 1
    CUBIC = 2


class Padding(IntEnum):
    ZEROS = 0
    BORDER = 1
    REFLECTION = 2


CUBIC = -0.75
"""The parameter of cubic interpolation, the slope at the next pixel."""

GRID_SAMPLE = Operation(
    CompositeCode.GRID_SAMPLE,
    facts=Facts(Kind.RESIZE),
    inputs=(
        Tensor("input", numbers(3, int32=3), rank=4, late_rank=True),
        Tensor("grid", floats(3), rank=4, late_rank=True),
        Scalar("mode", OperandCode.INT32, since=3, check=one_of(*Mode)),
        Scalar("padding", OperandCode.INT32, since=3, check=one_of(*Padding)),
        Scalar("align_corners", OperandCode.BOOL, since=3),
    ),
    outputs=(Tensor("out", like="input", quant="input"),),
)


@GRID_SAMPLE.shape
def infer_shape(input: OperandType, grid: OperandType, mode: int, padding: int, align_corners: bool) -> Shape:
    count, _, _, depth = need_image("input", input)
    need((grid.shape[0], grid.shape[3]) == (count, 2), f"grid has shape {list(grid.shape)}, must be [{count}, …, …, 2]")
    need(mode == Mode.NEAREST or input.code != INT32, "input is TENSOR_INT32, which only the nearest mode takes")
    return (*grid.shape[:3], depth)


@GRID_SAMPLE.kernel
def grid_sample(input: Array, grid: Array, mode: int, padding: int, align_corners: bool) -> Array:
    sizes = np.array([input.shape[2], input.shape[1]], np.float32)
    location = (grid + 1) * ((sizes - align_corners) / 2)
    location = location if align_corners else location - np.float32(0.5)
    taps = list(_find_taps(location, mode))
    if mode == Mode.NEAREST:
        return _read_pixels(input, taps[0][0], taps[0][0], padding, align_corners)
    out = np.zeros((*grid.shape[:3], input.shape[3]), np.float32)
    for row, row_weight in taps:
        line = np.zeros_like(out)
        for column, weight in taps:
            line += _read_pixels(input, column, row, padding, align_corners) * weight[..., :1]
        out += line * row_weight[..., 1:]
    return out


def _find_taps(location: Array, mode: int) -> Iterator[tuple[Array, Array]]:
    """Yield the pixels near each location, x and y, with their weights along both axes."""
    if mode == Mode.NEAREST:
        yield np.rint(location), location
        return
    low = np.floor(location)
    part = location - low
    if mode == Mode.LINEAR:
        yield low, 1 - part
        yield low + 1, part
        return
    for step in range(-1, 3):
        yield low + step, _weigh_cubic(np.abs(part - step))


def _weigh_cubic(distance: Array) -> Array:
    near = ((CUBIC + 2) * distance - (CUBIC + 3)) * distance * distance + 1
    far = ((CUBIC * distance - 5 * CUBIC) * distance + 8 * CUBIC) * distance - 4 * CUBIC
    return np.where(distance <= 1, near, far).astype(np.float32)


def _read_pixels(input: Array, column: Array, row: Array, padding: int, align_corners: bool) -> Array:
    """Return the pixels at the x of ``column`` and the y of ``row``."""
    count, height, width, _ = input.shape
    x, y = column[..., 0], row[..., 1]
    if padding == Padding.REFLECTION:
        x, y = _reflect(x, width, align_corners), _reflect(y, height, align_corners)
    first = np.arange(count).reshape(-1, 1, 1)
    pixels: Array = input[first, _clip(y, height), _clip(x, width)]
    if padding == Padding.ZEROS:
        is_inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
        pixels = np.where(is_inside[..., np.newaxis], pixels, pixels.dtype.type(0))
    return pixels


def _clip(position: Array, size: int) -> Array:
    return np.nan_to_num(np.clip(position, 0, size - 1)).astype(np.intp)


def _reflect(position: Array, size: int, align_corners: bool) -> Array:
    """Reflect positions at the centers of the outer pixels, or at their edges."""
    edge = 0.0 if align_corners else -0.5
    span = max(size - 1 - 2 * edge, 1)  # for a single pixel every location is 0
    rest = np.mod(np.abs(position - edge), 2 * span)
    reflected: Array = span - np.abs(rest - span) + edge
    return reflected


@GRID_SAMPLE.proposal
def propose_grid_sample(draw: Draw) -> Proposal:
    shape = draw.image()
    grid = (shape[0], draw.dimension(8), draw.dimension(8), 2)
    draw.proposal.shapes["grid"] = grid
    draw.proposal.scalars["mode"] = int(draw.pick(*Mode))
    draw.proposal.scalars["padding"] = int(draw.pick(*Padding))
    return draw.proposal
