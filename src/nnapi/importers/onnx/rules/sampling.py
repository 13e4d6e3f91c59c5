"""GridSample: pixels at computed locations, gathered as rows of the image and interpolated."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import NamedTuple

import numpy as np

from nnapi.codes import OperationCode
from nnapi.errors import BadDataError, need
from nnapi.importers.graph import FLOAT32, FLOATS, INT32, Value
from nnapi.importers.onnx.layout import image
from nnapi.importers.onnx.node import Node
from nnapi.importers.onnx.rules import rule
from nnapi.importers.onnx.rules.movement import cut, pad_with
from nnapi.importers.onnx.tensors import Tensor
from nnapi.importers.onnx.terms import Term, floor, nearest_integer
from nnapi.importers.refusals import expressible

OLDER = {"bilinear": "linear", "bicubic": "cubic"}
"""Modes by their names before opset 20."""
CUBIC = -0.75
MOST_PIXELS = 1 << 24
"""The largest integer range of float32."""


class Tap(NamedTuple):
    """The x offset and row offset of a pixel near each location; a single tap has no weights."""

    x: Term
    y: Term
    weight_x: Term | None = None
    weight_y: Term | None = None


@rule("GridSample")
def grid_sample(node: Node) -> Tensor:
    """Interpolate the pixels around each location of the grid."""
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
    for place, weight in _find_taps(OLDER.get(mode, mode), _count_pixels(node, sizes, is_aligned)):
        if padding == "reflection":
            place = _reflect(place, sizes, is_aligned)
        place = place + 1 if edge else place
        place = place.apply(OperationCode.MAXIMUM, 0).apply(OperationCode.MINIMUM, _pair(node, width - 1, height - 1))
        taps.append(_place_tap(place, weight, count, (height, width), pixels.type.code))
    whole = node.view(_mix(node, pixels, taps).value, (count, *grid[1:3], depth))
    return node.result(whole, (count, depth, *grid[1:3]), elem=node.tensor(0).elem, is_nhwc=True)


def _count_pixels(node: Node, sizes: Sequence[int], is_aligned: bool) -> Term:
    """Return the grid in pixels: -1 and 1 are the centers of the first and last pixel, or the edges."""
    rows = node.view(node.input(1), (int(np.prod(node.static_shape(1)[:3])), 2))
    height, width = ((size - is_aligned) / 2 for size in sizes)
    place = (Term(node, node.cast(rows, FLOAT32)) + 1) * _pair(node, width, height)
    return place if is_aligned else place + -0.5


def _find_taps(mode: str, place: Term) -> list[tuple[Term, Term | None]]:
    """Return the pixels around a location with their weights along both axes; None for a single pixel."""
    if mode == "nearest":
        return [(nearest_integer(place), None)]
    expressible(mode in ("linear", "cubic"), f"its mode is {mode}")
    low = floor(place)
    part = place - low
    rest = part * -1 + 1
    if mode == "linear":
        return [(low, rest), (low + 1, part)]
    far = [((u * CUBIC + -5 * CUBIC) * u + 8 * CUBIC) * u + -4 * CUBIC for u in (part + 1, rest + 1)]
    near = [(u * (CUBIC + 2) + (-CUBIC - 3)) * u * u + 1 for u in (part, rest)]
    return [(low + number, weight) for number, weight in enumerate((far[0], *near, far[1]), -1)]


def _reflect(place: Term, sizes: Sequence[int], is_aligned: bool) -> Term:
    """Reflect locations outside the image at its edges."""
    edge = 0.0 if is_aligned else -0.5
    height, width = (max(size - 1 - 2 * edge, 1) for size in sizes)  # a single pixel has no span, all locations are 0
    span, twice = _pair(place.node, width, height), _pair(place.node, 2 * width, 2 * height)
    beyond = abs(place + -edge)
    rest = beyond - floor(beyond / twice) * twice
    return span - abs(rest - span) + edge


def _place_tap(place: Term, weight: Term | None, count: int, sizes: tuple[int, int], code: int) -> Tap:
    """Clamp a tap to the image; cast weights to the images' type."""
    node, (height, width) = place.node, sizes
    x, y = _columns(place * _pair(node, 1, width))
    if count > 1:
        first = np.repeat(np.arange(count, dtype=np.float32) * (height * width), x.value.shape[0] // count)
        y = y + Term(node, node.constant(first[:, None]))
    return Tap(x, y) if weight is None else Tap(x, y, *_columns(Term(node, node.cast(weight.value, code))))


def _columns(pairs: Term) -> list[Term]:
    return [Term(pairs.node, column) for column in cut(pairs.node, pairs.value, 1, (1, 1))]


def _mix(node: Node, pixels: Value, taps: Sequence[Tap]) -> Term:
    """Sum the pixels at all taps, times their weights."""

    def pick(across: Tap, down: Tap) -> Term:
        place = (across.x + down.y).value
        number = node.cast(node.view(place, (place.shape[0],)), INT32)
        return _weigh(Term(node, node.apply(OperationCode.GATHER, pixels, node.i32(0), number)), across.weight_x)

    return reduce(add, [_weigh(reduce(add, [pick(x, y) for x in taps]), y.weight_y) for y in taps])


def _weigh(rows: Term, weight: Term | None) -> Term:
    return rows if weight is None else rows * weight


def _pair(node: Node, x: float, y: float) -> Term:
    return Term(node, node.constant(np.array([[x, y]], np.float32)))
