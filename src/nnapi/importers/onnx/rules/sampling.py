"""GridSample: pixels at computed locations, gathered as rows of the image and interpolated by distance.

Coordinates are rows of x and y, so that both are computed at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from typing import NamedTuple

import numpy as np

from nnapi.codes import OperationCode
from nnapi.errors import BadDataError, need
from nnapi.importers.arithmetic import add, multiply, plus, subtract, times
from nnapi.importers.graph import FLOAT32, FLOATS, INT32, Value
from nnapi.importers.onnx.layout import image
from nnapi.importers.onnx.node import Node
from nnapi.importers.onnx.rules import rule
from nnapi.importers.onnx.rules.arithmetic import floor, nearest_integer
from nnapi.importers.onnx.rules.padding import pad_with
from nnapi.importers.onnx.rules.shape import cut
from nnapi.importers.onnx.tensors import Tensor
from nnapi.importers.refusals import expressible

OLDER = {"bilinear": "linear", "bicubic": "cubic"}
"""Modes as opsets before 20 call them."""
CUBIC = -0.75
MOST_PIXELS = 1 << 24
"""As many as float32 counts."""


class Tap(NamedTuple):
    """A column and a row of pixels near each location of the grid: the pixel's offset within its row, and the offset of
    the row. A single tap has no weights."""

    x: Value
    y: Value
    weight_x: Value | None
    weight_y: Value | None


@rule("GridSample")
def grid_sample(node: Node) -> Tensor:
    """Lower GridSample: interpolate the pixels around each location of the grid."""
    rank = node.tensor(0).rank
    expressible(rank == 4, f"NNAPI has images of two dimensions, the input is of rank {rank}")
    (count, depth, *sizes), grid = node.static_shape(0), node.static_shape(1)
    need(len(grid) == 4 and (grid[0], grid[3]) == (count, 2), f"its grid is {list(grid)}", BadDataError)
    mode, padding = str(node.attribute("mode", "linear")), node.attribute("padding_mode", "zeros")
    edge = int(padding == "zeros")  # around the image, picked where a location lies outside
    height, width = (size + 2 * edge for size in sizes)
    expressible(count * height * width <= MOST_PIXELS, "its images have too many pixels")
    images = image(node, 0)
    expressible(mode == "nearest" or images.type.code in FLOATS, "NNAPI mixes no integers")
    images = pad_with(node, images, [(0, 0), (edge, edge), (edge, edge), (0, 0)], 0)
    pixels = node.view(images, (count * height * width, depth))
    is_aligned = bool(node.attribute("align_corners", 0))
    taps: list[Tap] = []
    for place, weight in _find_taps(node, OLDER.get(mode, mode), _count_pixels(node, sizes, is_aligned)):
        if padding == "reflection":
            place = _reflect(node, place, sizes, is_aligned)
        place = plus(node, place, 1) if edge else place
        place = node.apply(OperationCode.MAXIMUM, place, node.like(place, 0))
        place = node.apply(OperationCode.MINIMUM, place, _pair(node, width - 1, height - 1))
        taps.append(_place_tap(node, place, weight, count, (height, width), pixels.type.code))
    mixed = _mix(node, pixels, taps)
    whole = node.view(mixed, (count, *grid[1:3], depth))
    return node.result(whole, (count, depth, *grid[1:3]), elem=node.tensor(0).elem, is_nhwc=True)


def _count_pixels(node: Node, sizes: Sequence[int], is_aligned: bool) -> Value:
    """The grid in pixels: -1 and 1 are in the middle of the first and last one, or at the edges of the image."""
    rows = node.view(node.input(1), (int(np.prod(node.static_shape(1)[:3])), 2))
    height, width = ((size - is_aligned) / 2 for size in sizes)
    place = multiply(node, plus(node, node.cast(rows, FLOAT32), 1), _pair(node, width, height))
    return place if is_aligned else plus(node, place, -0.5)


def _find_taps(node: Node, mode: str, place: Value) -> list[tuple[Value, Value | None]]:
    """Return the pixels around a location with their weights along both axes; no weight for a single pixel."""
    if mode == "nearest":
        return [(nearest_integer(node, place), None)]
    expressible(mode in ("linear", "cubic"), f"its mode is {mode}")
    low = floor(node, place)
    part = subtract(node, place, low)
    rest = plus(node, times(node, part, -1), 1)
    if mode == "linear":
        return [(low, rest), (plus(node, low, 1), part)]
    far = [_polynomial(node, plus(node, u, 1), CUBIC, -5 * CUBIC, 8 * CUBIC, -4 * CUBIC) for u in (part, rest)]
    near = [_polynomial(node, u, CUBIC + 2, -CUBIC - 3, 0, 1) for u in (part, rest)]
    weights = (far[0], *near, far[1])
    return [(plus(node, low, number), weight) for number, weight in enumerate(weights, -1)]


def _polynomial(node: Node, x: Value, first: float, *others: float) -> Value:
    start = plus(node, times(node, x, first), others[0])
    return reduce(lambda sum, factor: plus(node, multiply(node, sum, x), factor), others[1:], start)


def _reflect(node: Node, place: Value, sizes: Sequence[int], is_aligned: bool) -> Value:
    """Reflect a location outside the image at its edges until it is inside."""
    edge = 0.0 if is_aligned else -0.5
    height, width = (max(size - 1 - 2 * edge, 1) for size in sizes)  # a single pixel has no span, all locations are 0
    span, twice = _pair(node, width, height), _pair(node, 2 * width, 2 * height)
    beyond = node.apply(OperationCode.ABS, plus(node, place, -edge))
    turns = floor(node, node.apply(OperationCode.DIV, beyond, twice, node.i32(0)))
    rest = subtract(node, beyond, multiply(node, turns, twice))
    back = node.apply(OperationCode.ABS, subtract(node, rest, span))
    return plus(node, subtract(node, span, back), edge)


def _place_tap(node: Node, place: Value, weight: Value | None, count: int, sizes: tuple[int, int], code: int) -> Tap:
    """Return a tap clamped to the image, with weights of the images' type."""
    height, width = sizes
    x, y = cut(node, multiply(node, place, _pair(node, 1, width)), 1, (1, 1))
    if count > 1:
        first = np.repeat(np.arange(count, dtype=np.float32) * (height * width), place.shape[0] // count)
        y = add(node, y, node.constant(first[:, None]))
    return Tap(x, y, *(cut(node, node.cast(weight, code), 1, (1, 1)) if weight is not None else (None, None)))


def _mix(node: Node, pixels: Value, taps: Sequence[Tap]) -> Value:
    """The pixels at each tap's x and each tap's y, times the weights of both."""

    def pick(across: Tap, down: Tap) -> Value:
        number = node.cast(node.view(add(node, across.x, down.y), (across.x.shape[0],)), INT32)
        return _weigh(node, node.apply(OperationCode.GATHER, pixels, node.i32(0), number), across.weight_x)

    rows = [_weigh(node, reduce(partial(add, node), [pick(x, y) for x in taps]), y.weight_y) for y in taps]
    return reduce(partial(add, node), rows)


def _weigh(node: Node, rows: Value, weight: Value | None) -> Value:
    return rows if weight is None else multiply(node, rows, weight)


def _pair(node: Node, x: float, y: float) -> Value:
    return node.constant(np.array([[x, y]], np.float32))
