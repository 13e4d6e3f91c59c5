"""GRID_SAMPLE: gather rows of the flattened images, and interpolate."""

from collections.abc import Sequence
from functools import reduce
from math import prod
from operator import add
from typing import NamedTuple

import numpy as np

from nnapi.codes import OperandCode
from nnapi.lowering.decomposition_builder import Decomposition, decomposition
from nnapi.lowering.refusal import require
from nnapi.model.builder import Tensor
from nnapi.model.operand import Array, OperandType
from nnapi.operation_codes import CompositeCode as Composite
from nnapi.ops.grid_sample import CUBIC, Mode, Padding

INT32 = OperandCode.TENSOR_INT32
MOST_PIXELS = 1 << 24
"""Pixels are indexed in float32, which is exact for integers up to this."""


class Tap(NamedTuple):
    """The offsets of a pixel near each location, along x, y and perhaps z, and its weights; () if only one is used."""

    offsets: Sequence[Tensor]
    weights: Sequence[Tensor] = ()


@decomposition(Composite.GRID_SAMPLE)
def grid_sample(b: Decomposition, input: Tensor, grid: Tensor, mode: int, padding: int, align_corners: bool) -> Tensor:
    count, *sizes, depth = input.shape
    sizes.reverse()  # as the grid has them: x first
    edge = int(padding == Padding.ZEROS)  # padding around the image, read for locations outside
    padded = [size + 2 * edge for size in sizes]
    require(count * prod(padded) <= MOST_PIXELS, "its images have too many pixels")
    pixels = b.reshape(_surround(b, input) if edge else input, (count * prod(padded), depth))
    rows = b.reshape(grid, (prod(grid.shape[:-1]), len(sizes)))
    taps: list[Tap] = []
    for location, weight in _find_taps(b, mode, _count_pixels(rows, sizes, align_corners)):
        if padding == Padding.REFLECTION:
            location = _reflect(b, location, sizes, align_corners)
        location = location + 1 if edge else location
        location = b.minimum(b.maximum(location, 0), _row([size - 1 for size in padded]))
        taps.append(_make_tap(b, location, weight, count, padded))
    return b.reshape(_mix(b, pixels, taps, None, len(sizes) - 1), (*grid.shape[:-1], depth))


def _surround(b: Decomposition, x: Tensor) -> Tensor:
    """Return images with zeros around them, in rows of pixels that are merged with their channels."""
    *outer, width, depth = x.shape
    widths = [(0, 0), *[(1, 1)] * (len(outer) - 1), (depth, depth)]
    x = b.reshape(x, (*outer, width * depth))
    if x.type.code != INT32:
        return b.pad(x, np.array(widths, np.int32))
    for axis, (around, _) in enumerate(widths):
        zeros = np.zeros([around if i == axis else size for i, size in enumerate(x.shape)], np.int32)
        x = b.concatenate([b.constant(zeros), x, b.constant(zeros)], axis) if around else x
    return x


def _count_pixels(rows: Tensor, sizes: Sequence[int], is_aligned: bool) -> Tensor:
    """Return locations in pixels."""
    location = (rows + 1) * _row([(size - is_aligned) / 2 for size in sizes])
    return location if is_aligned else location + -0.5


def _find_taps(b: Decomposition, mode: int, location: Tensor) -> list[tuple[Tensor, Tensor | None]]:
    """Return the pixels around a location, each with its weights along the axes; None if there is only one pixel."""
    if mode == Mode.NEAREST:
        return [(b.round(location), None)]
    low = b.floor(location)
    part = location - low
    rest = part * -1 + 1
    if mode == Mode.LINEAR:
        return [(low, rest), (low + 1, part)]
    far = [_cubic(each + 1, (CUBIC, -5 * CUBIC, 8 * CUBIC, -4 * CUBIC)) for each in (part, rest)]
    near = [_cubic(each, (CUBIC + 2, -CUBIC - 3, 0, 1)) for each in (part, rest)]
    return [(low + step if step else low, weight) for step, weight in enumerate((far[0], *near, far[1]), -1)]


def _cubic(x: Tensor, factors: tuple[float, ...]) -> Tensor:
    """Return the polynomial with ``factors``, the highest power first."""
    total = x * factors[0]
    for factor in factors[1:-1]:
        total = (total + factor if factor else total) * x
    return total + factors[-1]


def _reflect(b: Decomposition, location: Tensor, sizes: Sequence[int], is_aligned: bool) -> Tensor:
    edge = 0.0 if is_aligned else -0.5
    spans = [max(size - 1 - 2 * edge, 1) for size in sizes]  # for a single pixel every location is 0
    span, twice = (b.constant(times * _row(spans)) for times in (1, 2))
    beyond = abs(location + -edge if edge else location)
    rest = beyond - b.floor(beyond / twice) * twice
    reflected = span - abs(rest - span)
    return reflected + edge if edge else reflected


def _make_tap(b: Decomposition, location: Tensor, weight: Tensor | None, count: int, sizes: Sequence[int]) -> Tap:
    """Return the tap at a location, as offsets into the flattened images."""
    strides = [prod(sizes[:axis]) for axis in range(len(sizes))]
    *inner, outermost = _columns(b, location * _row(strides))
    if count > 1:
        first = np.repeat(np.arange(count, dtype=np.float32) * prod(sizes), outermost.shape[0] // count)
        outermost = outermost + first[:, None]
    return Tap([*inner, outermost], () if weight is None else _columns(b, weight))


def _columns(b: Decomposition, rows: Tensor) -> list[Tensor]:
    return [b.block(rows, 1, column, 1) for column in range(rows.shape[1])]


def _mix(b: Decomposition, pixels: Tensor, taps: Sequence[Tap], offset: Tensor | None, axis: int) -> Tensor:
    """Mix the pixels along an axis and those inside it; ``offset`` is that of the axes outside."""
    parts = []
    for tap in taps:
        location = tap.offsets[axis] if offset is None else tap.offsets[axis] + offset
        if axis:
            part = _mix(b, pixels, taps, location, axis - 1)
        else:
            part = b.gather(pixels, 0, b.cast(b.reshape(location, location.shape[:1]), out=OperandType(INT32)))
        parts.append(part * tap.weights[axis] if tap.weights else part)
    return reduce(add, parts)


def _row(values: Sequence[float]) -> Array:
    return np.array([values], np.float32)
