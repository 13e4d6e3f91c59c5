"""GRID_SAMPLE: gather rows of the flattened images, and interpolate."""

from collections.abc import Sequence
from functools import reduce
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
    """The x offset and row offset of a pixel near each location, with its weights; None if only one pixel is used."""

    x: Tensor
    y: Tensor
    weight_x: Tensor | None = None
    weight_y: Tensor | None = None


@decomposition(Composite.GRID_SAMPLE)
def grid_sample(b: Decomposition, input: Tensor, grid: Tensor, mode: int, padding: int, align_corners: bool) -> Tensor:
    require(len(input.shape) == 4, "it samples a volume")
    count, *sizes, depth = input.shape
    edge = int(padding == Padding.ZEROS)  # padding around the image, read for locations outside
    height, width = (size + 2 * edge for size in sizes)
    require(count * height * width <= MOST_PIXELS, "its images have too many pixels")
    pixels = b.reshape(_surround(b, input) if edge else input, (count * height * width, depth))
    rows = int(np.prod(grid.shape[:3]))
    taps: list[Tap] = []
    for location, weight in _find_taps(b, mode, _count_pixels(b.reshape(grid, (rows, 2)), sizes, align_corners)):
        if padding == Padding.REFLECTION:
            location = _reflect(b, location, sizes, align_corners)
        location = location + 1 if edge else location
        location = b.minimum(b.maximum(location, 0), _pair(width - 1, height - 1))
        taps.append(_make_tap(b, location, weight, count, (height, width)))
    return b.reshape(_mix(b, pixels, taps), (*grid.shape[:3], depth))


def _surround(b: Decomposition, x: Tensor) -> Tensor:
    """Return images with zeros around them."""
    if x.type.code != INT32:
        return b.pad(x, np.array([[0, 0], [1, 1], [1, 1], [0, 0]], np.int32))
    for axis in (1, 2):
        zeros = b.constant(np.zeros([1 if i == axis else size for i, size in enumerate(x.shape)], np.int32))
        x = b.concatenate([zeros, x, zeros], axis)
    return x


def _count_pixels(rows: Tensor, sizes: Sequence[int], is_aligned: bool) -> Tensor:
    """Return locations in pixels."""
    height, width = ((size - is_aligned) / 2 for size in sizes)
    location = (rows + 1) * _pair(width, height)
    return location if is_aligned else location + -0.5


def _find_taps(b: Decomposition, mode: int, location: Tensor) -> list[tuple[Tensor, Tensor | None]]:
    """Return the pixels around a location, each with its weights along both axes; None if there is only one pixel."""
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
    height, width = (max(size - 1 - 2 * edge, 1) for size in sizes)  # for a single pixel every location is 0
    span, twice = (b.constant(_pair(times * width, times * height)) for times in (1, 2))
    beyond = abs(location + -edge if edge else location)
    rest = beyond - b.floor(beyond / twice) * twice
    reflected = span - abs(rest - span)
    return reflected + edge if edge else reflected


def _make_tap(b: Decomposition, location: Tensor, weight: Tensor | None, count: int, sizes: tuple[int, int]) -> Tap:
    """Return the tap at a location, as offsets into the flattened images."""
    height, width = sizes
    x, y = _columns(b, location * _pair(1, width))
    if count > 1:
        first = np.repeat(np.arange(count, dtype=np.float32) * (height * width), x.shape[0] // count)
        y = y + first[:, None]
    return Tap(x, y) if weight is None else Tap(x, y, *_columns(b, weight))


def _columns(b: Decomposition, pairs: Tensor) -> list[Tensor]:
    return [b.block(pairs, 1, column, 1) for column in (0, 1)]


def _mix(b: Decomposition, pixels: Tensor, taps: list[Tap]) -> Tensor:
    def pick(across: Tap, down: Tap) -> Tensor:
        location = across.x + down.y
        number = b.cast(b.reshape(location, location.shape[:1]), out=OperandType(INT32))
        return _weigh(b.gather(pixels, 0, number), across.weight_x)

    return reduce(add, [_weigh(reduce(add, [pick(x, y) for x in taps]), y.weight_y) for y in taps])


def _weigh(rows: Tensor, weight: Tensor | None) -> Tensor:
    return rows if weight is None else rows * weight


def _pair(x: float, y: float) -> Array:
    return np.array([[x, y]], np.float32)
