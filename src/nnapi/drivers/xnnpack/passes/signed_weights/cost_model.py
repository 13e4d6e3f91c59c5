"""What the ways of computing an exact sum of products cost, in seconds relative to a signed filter that just fits.

The figures were measured on one core of a processor with byte dot products; only their proportions matter.
"""

from __future__ import annotations

import math

from nnapi.drivers.xnnpack.operators import facts
from nnapi.formats.tflite.graph import Graph, Operator, Tensor

SLICED, JOINED = 2.6e-9, 2.1e-9
"""For each pixel: slicing a channel off, every tensor that is joined."""
MOVED = 8e-12
"""For each byte that is joined."""
MAC, FLOAT_MAC = 2e-12, 9.5e-12
UNSIGNED_MAC = 1.3e-11
"""Of a single row, with the filter as it is."""
FAR_FILTER = 500_000
"""Numbers of a filter that, doubled, comes from beyond the caches of a core, at half the speed."""
TURNED = 3e-7
"""For turning the codes of a row into unsigned ones, or back."""
DEPTHWISE_PIXEL, DEPTHWISE_TILE = 1.6e-9, 3.9e-10
"""For each pixel of a depthwise filter, and for each tile of its channels at each of the filter's places."""
NEAR_TILE, FAR_TILE = 3.2e-10, 3.7e-10
"""The latter in float32, from the cache and from memory."""
UNALIGNED = 1.4
"""Times as long does a depthwise filter in float32 take whose pixels do not begin at multiples of a tile."""
REQUANTISED = 7.9e-11
"""For each number: rounding a sum to a code inside a convolution."""
CONVERTED, CONVERTED_NEAR = 4.1e-11, 2e-11
"""For each number: converting between codes and float32, in memory and in a tensor that stays in the cache."""
CACHE, NEAREST_CACHE = 500_000, 48_000
"""Bytes of float32 tensors that are read back fast; of what one pixel of a depthwise filter touches."""
TILE = 16
"""Channels computed at a time."""
STEP = 8
"""Input channels multiplied at a time."""
FEWEST = 4
"""Pixels computed in the time in which a filter comes from memory."""


def count_macs(graph: Graph) -> int:
    """How many products the graph sums, as far as filters tell."""
    return sum(_macs(operator) for operator in graph.operators if facts(operator.kind).sums)


def _macs(operator: Operator) -> int:
    out = operator.output
    return out.size // out.shape[-1] * operator.input(1).size


def pixels(tensor: Tensor) -> int:
    """Pixels, or rows of a matrix, but at least as many as are computed while a filter comes from memory."""
    return max(tensor.size // tensor.shape[-1], FEWEST)


def round_up(dimension: int, step: int) -> int:
    return -(-dimension // step) * step


def estimate_dense(operator: Operator, taps: int | None = None, depth: int | None = None) -> float:
    """A signed convolution altogether, with its own filter or with one of so many places and channels."""
    own_taps, own_depth = _count_taps(operator)
    out = operator.output
    macs = (taps or own_taps) * round_up(depth or own_depth, STEP)
    return pixels(out) * round_up(out.shape[-1], TILE) * (macs * MAC + REQUANTISED)


def estimate_slices(operator: Operator, copies: int) -> float:
    """Copies of that many channels sliced off and joined to the input."""
    x = operator.input(0)
    return pixels(x) * (2 * JOINED + SLICED * copies) + x.size * MOVED + _estimate_depth(operator, copies)


def estimate_doubling(operator: Operator) -> float:
    """The input joined to itself."""
    x = operator.input(0)
    return pixels(x) * 2 * JOINED + 2 * x.size * MOVED + _estimate_depth(operator, x.shape[-1])


def estimate_rejoining(operator: Operator, copies: int) -> float:
    """An input that is joined anyway with so many channels more."""
    return pixels(operator.input(0)) * (JOINED + copies * MOVED) + _estimate_depth(operator, copies)


def estimate_float(operator: Operator, copies: int = 0) -> float:
    """Computed in float32, the output with copies of that many channels."""
    out = operator.output
    conversions = _estimate_conversion(operator.input(0).size) + _estimate_conversion(out.size)
    if operator.kind == "DEPTHWISE_CONV_2D":
        depth = round_up(out.shape[-1] + copies, TILE)
        more = _estimate_tiles(operator, depth, in_float=True) - _estimate_tiles(operator, out.shape[-1])
        return more + conversions
    taps, depth = _count_taps(operator)
    units = round_up(out.shape[-1] + copies, TILE)
    each = taps * (depth * FLOAT_MAC - round_up(depth, STEP) * MAC) - REQUANTISED
    return pixels(out) * units * each + conversions


def estimate_unsigned(operator: Operator) -> float:
    """With the filter as it is, between codes that are turned into unsigned ones and back; infinite where the engine
    is far slower on such filters: if there are several pixels, or the filter stays in a cache."""
    out = operator.output
    if out.size > out.shape[-1]:
        return math.inf
    taps, depth = _count_taps(operator)
    numbers = out.shape[-1] * taps * depth
    if numbers < FAR_FILTER:
        return math.inf
    return numbers * UNSIGNED_MAC + 2 * TURNED - estimate_dense(operator)


def estimate_branches(operator: Operator, apart: int) -> float:
    """A depthwise filter in two parts, so many channels of it in float32, joined at the end."""
    x, out = operator.input(0), operator.output
    depth = out.shape[-1]
    parts = _estimate_tiles(operator, depth - apart) + _estimate_tiles(operator, apart, in_float=True)
    conversions = _estimate_conversion(pixels(x) * apart) + _estimate_conversion(pixels(out) * apart)
    joined = pixels(out) * 2 * JOINED + out.size * MOVED
    return parts - _estimate_tiles(operator, depth) + conversions + joined


def estimate_depthwise(operator: Operator) -> float:
    """A signed depthwise filter altogether."""
    return _estimate_tiles(operator, operator.output.shape[-1])


def estimate_pairs(operator: Operator, taps: int) -> float:
    """A convolution of few channels as a dense one of so many places that makes two pixels at once."""
    out = operator.output
    macs = taps * round_up(operator.input(1).shape[-1], STEP)
    return pixels(out) / 2 * round_up(2 * out.shape[-1], TILE) * (macs * MAC + REQUANTISED)


def estimate_reading(operator: Operator, copies: int) -> float:
    """Reading an input that carries copies which are found there anyway."""
    return _estimate_depth(operator, copies)


def estimate_writing(operator: Operator, copies: int, mac: float = MAC) -> float:
    """Making copies of that many channels along with the output."""
    taps, depth = _count_taps(operator)
    out = operator.output
    if operator.kind == "DEPTHWISE_CONV_2D":
        return _estimate_tiles(operator, out.shape[-1] + copies) - _estimate_tiles(operator, out.shape[-1])
    more = round_up(out.shape[-1] + copies, TILE) - round_up(out.shape[-1], TILE)
    return pixels(out) * more * (taps * depth * mac + REQUANTISED)


def _estimate_tiles(operator: Operator, depth: int, in_float: bool = False) -> float:
    """A depthwise filter for so many channels."""
    taps, _ = _count_taps(operator)
    tile, times = DEPTHWISE_TILE, 1.0
    if in_float:
        tile = NEAR_TILE if 4 * pixels(operator.input(0)) * depth <= CACHE else FAR_TILE
        tile *= 2 if 8 * taps * depth > NEAREST_CACHE else 1
        times = UNALIGNED if depth % TILE else 1.0
    return times * pixels(operator.output) * (DEPTHWISE_PIXEL + taps * tile * -(-depth // TILE))


def _estimate_conversion(numbers: int) -> float:
    return numbers * (CONVERTED_NEAR if 4 * numbers <= CACHE else CONVERTED)


def _estimate_depth(operator: Operator, copies: int) -> float:
    taps, depth = _count_taps(operator)
    steps = round_up(depth + copies, STEP) - round_up(depth, STEP)
    if not steps:
        return 0.0
    out = operator.output
    return pixels(out) * round_up(out.shape[-1], TILE) * taps * steps * MAC


def _count_taps(operator: Operator) -> tuple[int, int]:
    """Places of a filter, and channels that it sums over at each."""
    shape = operator.input(1).shape
    if operator.kind == "DEPTHWISE_CONV_2D":
        return math.prod(shape[:-1]), 1
    return math.prod(shape[1:-1]), shape[-1]
