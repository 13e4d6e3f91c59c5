"""GRID_SAMPLE: pixels of an image or a volume at computed locations, interpolated.

The grid has x and y of each location, and z in a volume: -1 and 1 are the centers of the outer pixels with
``align_corners``, else their outer edges. Pixels outside are zeros, the nearest pixel of the border, or those reflected
at the border.
"""

from collections.abc import Iterator
from enum import IntEnum

import numpy as np

from nnapi.codes import OperandCode
from nnapi.errors import need
from nnapi.model.facts import Facts, Kind
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import Scalar, Tensor, Unless, one_of
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
        Tensor("input", numbers(3, int32=3), rank=(4, 5), late_rank=True),
        Tensor("grid", floats(3), rank=(4, 5), late_rank=True),
        Scalar("mode", OperandCode.INT32, since=3, check=one_of(*Mode)),
        Scalar("padding", OperandCode.INT32, since=3, check=one_of(*Padding)),
        Scalar("align_corners", OperandCode.BOOL, since=3),
    ),
    outputs=(Tensor("out", like="input", quant=Unless("input")),),
)


@GRID_SAMPLE.shape
def infer_shape(input: OperandType, grid: OperandType, mode: int, padding: int, align_corners: bool) -> Shape:
    count, *size, depth = need_image("input", input)
    fits = grid.rank == input.rank and (grid.shape[0], grid.shape[-1]) == (count, len(size))
    need(fits, f"grid has shape {list(grid.shape)}, must be [{count}, {'…, ' * len(size)}{len(size)}]")
    need(mode == Mode.NEAREST or input.code != INT32, "input is TENSOR_INT32, which only the nearest mode takes")
    need(mode != Mode.CUBIC or len(size) == 2, "input is a volume, which the cubic mode does not take")
    return (*grid.shape[:-1], depth)


@GRID_SAMPLE.kernel
def grid_sample(input: Array, grid: Array, mode: int, padding: int, align_corners: bool) -> Array:
    sizes = np.array(input.shape[-2:0:-1], np.float32)
    location = (grid + 1) * ((sizes - align_corners) / 2)
    location = location if align_corners else location - np.float32(0.5)
    taps = list(_find_taps(location, mode))

    def mix(chosen: tuple[Array, ...]) -> Array:
        """Mix the pixels along the axes that have no ``chosen`` position yet, the outermost axis first."""
        axis = len(sizes) - 1 - len(chosen)
        if axis < 0:
            return _read_pixels(input, chosen, padding, align_corners)
        total = np.zeros((*grid.shape[:-1], input.shape[-1]), np.float32)
        for position, weight in taps:
            total += mix((*chosen, position[..., axis])) * weight[..., axis : axis + 1]
        return total

    if mode == Mode.NEAREST:
        nearest = np.moveaxis(taps[0][0], -1, 0)[::-1]
        return _read_pixels(input, tuple(nearest), padding, align_corners)
    return mix(())


def _find_taps(location: Array, mode: int) -> Iterator[tuple[Array, Array]]:
    """Yield the pixels near each location, by coordinate, with their weights along each axis."""
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


def _read_pixels(input: Array, positions: tuple[Array, ...], padding: int, align_corners: bool) -> Array:
    """Return the pixels at ``positions``, one for each axis between batches and channels."""
    count, *sizes, _ = input.shape
    if padding == Padding.REFLECTION:
        positions = tuple(_reflect(each, size, align_corners) for each, size in zip(positions, sizes, strict=True))
    first = np.arange(count).reshape(-1, *[1] * len(sizes))
    pixels: Array = input[first, *map(_clip, positions, sizes)]
    if padding == Padding.ZEROS:
        is_inside = np.logical_and.reduce([(at >= 0) & (at < size) for at, size in zip(positions, sizes, strict=True)])
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
