"""What the ways of computing an exact sum of products cost, in seconds relative to a signed filter that just fits.

The figures were measured on one core of a processor with byte dot products; only their proportions matter.
"""

from __future__ import annotations

import math

from nnapi.formats.tflite.graph import Graph, Operator, Tensor

SLICED, JOINED = 2.6e-9, 2.1e-9
"""For each pixel: slicing a channel off, every tensor that is joined."""
MOVED = 8e-12
"""For each byte that is joined."""
PRODUCT, FLOAT_PRODUCT = 2e-12, 9.5e-12
UNSIGNED_PRODUCT = 1.3e-11
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


SUMS = frozenset({"BATCH_MATMUL", "CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV"})
"""Operators that sum products of their first two inputs."""


def products(graph: Graph) -> int:
    """How many products the graph sums, as far as weights tell."""
    return sum(_products(operator) for operator in graph.operators if operator.kind in SUMS)


def _products(operator: Operator) -> int:
    filter = operator.inputs[1]
    assert filter is not None
    out = operator.outputs[0]
    return out.size // out.shape[-1] * filter.size


def pixels(tensor: Tensor) -> int:
    """Pixels, or rows of a matrix, but at least as many as are computed while a filter comes from memory."""
    return max(tensor.size // tensor.shape[-1], FEWEST)


def rounded(extent: int, step: int) -> int:
    return -(-extent // step) * step


def summing(operator: Operator, taps: int | None = None, depth: int | None = None) -> float:
    """A signed convolution altogether, with its own filter or with one of so many places and channels."""
    own_taps, own_depth = _taps(operator)
    out = operator.outputs[0]
    products = (taps or own_taps) * rounded(depth or own_depth, STEP)
    return pixels(out) * rounded(out.shape[-1], TILE) * (products * PRODUCT + REQUANTISED)


def appended(operator: Operator, copies: int) -> float:
    """Copies of that many channels sliced off and joined to the input."""
    x = _input(operator)
    return pixels(x) * (2 * JOINED + SLICED * copies) + x.size * MOVED + _deeper(operator, copies)


def doubled(operator: Operator) -> float:
    """The input joined to itself."""
    x = _input(operator)
    return pixels(x) * 2 * JOINED + 2 * x.size * MOVED + _deeper(operator, x.shape[-1])


def joined_again(operator: Operator, copies: int) -> float:
    """An input that is joined anyway with so many channels more."""
    return pixels(_input(operator)) * (JOINED + copies * MOVED) + _deeper(operator, copies)


def in_float(operator: Operator, copies: int = 0) -> float:
    """Computed in float32, the output with copies of that many channels."""
    out = operator.outputs[0]
    conversions = _converted(_input(operator).size) + _converted(out.size)
    if operator.kind == "DEPTHWISE_CONV_2D":
        depth = rounded(out.shape[-1] + copies, TILE)
        more = _each_channel(operator, depth, in_float=True) - _each_channel(operator, out.shape[-1])
        return more + conversions
    taps, depth = _taps(operator)
    units = rounded(out.shape[-1] + copies, TILE)
    each = taps * (depth * FLOAT_PRODUCT - rounded(depth, STEP) * PRODUCT) - REQUANTISED
    return pixels(out) * units * each + conversions


def unsigned(operator: Operator) -> float:
    """With the filter as it is, between codes that are turned into unsigned ones and back; infinite where the engine
    is far slower on such filters: if there are several pixels, or the filter stays in a cache."""
    out = operator.outputs[0]
    if out.size > out.shape[-1]:
        return math.inf
    taps, depth = _taps(operator)
    numbers = out.shape[-1] * taps * depth
    if numbers < FAR_FILTER:
        return math.inf
    return numbers * UNSIGNED_PRODUCT + 2 * TURNED - summing(operator)


def in_branches(operator: Operator, apart: int) -> float:
    """A depthwise filter in two parts, so many channels of it in float32, joined at the end."""
    x, out = _input(operator), operator.outputs[0]
    depth = out.shape[-1]
    parts = _each_channel(operator, depth - apart) + _each_channel(operator, apart, in_float=True)
    conversions = _converted(pixels(x) * apart) + _converted(pixels(out) * apart)
    joined = pixels(out) * 2 * JOINED + out.size * MOVED
    return parts - _each_channel(operator, depth) + conversions + joined


def each_channel(operator: Operator) -> float:
    """A signed depthwise filter altogether."""
    return _each_channel(operator, operator.outputs[0].shape[-1])


def in_twos(operator: Operator, taps: int) -> float:
    """A convolution of few channels as a dense one of so many places that makes two pixels at once."""
    out, filter = operator.outputs[0], operator.inputs[1]
    assert filter is not None
    products = taps * rounded(filter.shape[-1], STEP)
    return pixels(out) / 2 * rounded(2 * out.shape[-1], TILE) * (products * PRODUCT + REQUANTISED)


def carrying(operator: Operator, copies: int) -> float:
    """Reading an input that carries copies which are found there anyway."""
    return _deeper(operator, copies)


def writing(operator: Operator, copies: int, product: float = PRODUCT) -> float:
    """Making copies of that many channels along with the output."""
    taps, depth = _taps(operator)
    out = operator.outputs[0]
    if operator.kind == "DEPTHWISE_CONV_2D":
        return _each_channel(operator, out.shape[-1] + copies) - _each_channel(operator, out.shape[-1])
    more = rounded(out.shape[-1] + copies, TILE) - rounded(out.shape[-1], TILE)
    return pixels(out) * more * (taps * depth * product + REQUANTISED)


def _each_channel(operator: Operator, depth: int, in_float: bool = False) -> float:
    """A depthwise filter for so many channels."""
    taps, _ = _taps(operator)
    tile, times = DEPTHWISE_TILE, 1.0
    if in_float:
        tile = NEAR_TILE if 4 * pixels(_input(operator)) * depth <= CACHE else FAR_TILE
        tile *= 2 if 8 * taps * depth > NEAREST_CACHE else 1
        times = UNALIGNED if depth % TILE else 1.0
    return times * pixels(operator.outputs[0]) * (DEPTHWISE_PIXEL + taps * tile * -(-depth // TILE))


def _converted(numbers: int) -> float:
    return numbers * (CONVERTED_NEAR if 4 * numbers <= CACHE else CONVERTED)


def _deeper(operator: Operator, copies: int) -> float:
    taps, depth = _taps(operator)
    steps = rounded(depth + copies, STEP) - rounded(depth, STEP)
    if not steps:
        return 0.0
    out = operator.outputs[0]
    return pixels(out) * rounded(out.shape[-1], TILE) * taps * steps * PRODUCT


def _input(operator: Operator) -> Tensor:
    x = operator.inputs[0]
    assert x is not None
    return x


def _taps(operator: Operator) -> tuple[int, int]:
    """Places of a filter, and channels that it sums over at each."""
    filter = operator.inputs[1]
    assert filter is not None
    shape = filter.shape
    if operator.kind == "DEPTHWISE_CONV_2D":
        return math.prod(shape[:-1]), 1
    return (1 if len(shape) == 2 else math.prod(shape[1:-1])), shape[-1]
