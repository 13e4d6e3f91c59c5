"""Predicted seconds of the ways to compute an exact sum of products, relative to a signed filter without outliers.

They predict which variant of a model to run first. ``benchmarks/operator_costs.py`` measures :class:`KernelTimings`.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from nnapi.contract.timings import Processor, find_processor
from nnapi.formats.tflite.graph import Operator, Tensor


class Dense(NamedTuple):
    """Seconds of a convolution per output value, filter tap and MAC. ``tile`` channels are computed together."""

    output: float
    tap: float
    mac: float
    tile: int = 16

    def seconds(self, count: float, units: int, taps: int, depth: int) -> float:
        each = self.output + taps * (self.tap + depth * self.mac)
        return count * round_up(units, self.tile) * each


class Depthwise(NamedTuple):
    """Seconds of a depthwise convolution per pixel, and per tap and tile of channels."""

    pixel: float
    tile: float


class KernelTimings(NamedTuple):
    """Seconds on a processor. Without ``unsigned`` timings, only products of single rows use unsigned values."""

    signed: Dense = Dense(7.9e-11, 0.0, 2e-12)
    real: Dense = Dense(0.0, 0.0, 9.5e-12)
    unsigned: Dense | None = None
    signed_depthwise: Depthwise = Depthwise(1.6e-9, 3.9e-10)
    real_depthwise: Depthwise = Depthwise(1.6e-9, 3.2e-10)
    slicing: float = 2.6e-9
    """Seconds per pixel of a sliced channel."""
    concatenation: float = 2.1e-9
    """Seconds per pixel of each concatenated tensor."""
    copying: float = 8e-12
    """Seconds per concatenated byte."""
    conversion: float = 2e-11
    """Seconds per value converted between quantized and float32, if the tensor is in a cache."""

    @property
    def is_measured(self) -> bool:
        """Whether unsigned values were measured; if not, sums stay signed."""
        return self.unsigned is not None


NOMINAL = KernelTimings()
"""Measured on one core of an AMD EPYC with AVX-512 VNNI."""
KERNEL_TIMINGS: Mapping[Processor, KernelTimings] = {
    Processor.AMX: KernelTimings(
        Dense(2e-10, 3.8e-11, 2.4e-13, 64),
        Dense(1.5e-11, 8e-11, 1e-11),
        Dense(2.5e-10, 2.5e-11, 1.2e-11),
        Depthwise(1e-9, 9.5e-10),
        Depthwise(2e-9, 3.9e-10),
        3.1e-9,
        2.3e-9,
        5e-13,
        6.2e-11,
    )
}
"""Measured on one core of an Intel Xeon with AMX."""
ALL_SIGNED = NOMINAL
"""Timings that select signed filters whenever they are exact."""
ALL_FLOAT = KernelTimings(
    Dense(1e-6, 0.0, 1e-9),
    Dense(1e-12, 0.0, 1e-13),
    Dense(1e-6, 0.0, 1e-9),
    Depthwise(1e-6, 1e-6),
    Depthwise(1e-12, 1e-12),
)
"""Timings that select float32 for all sums of products."""
_current: ContextVar[KernelTimings] = ContextVar("nnapi.xnnpack.timings", default=NOMINAL)


@contextmanager
def use_timings(timings: KernelTimings) -> Iterator[None]:
    token = _current.set(timings)
    try:
        yield
    finally:
        _current.reset(token)


def find_kernel_timings() -> KernelTimings:
    return KERNEL_TIMINGS.get(find_processor(), NOMINAL)


def current_timings() -> KernelTimings:
    return _current.get()


UNSIGNED_MAC = 6.5
"""Cost of a MAC with an unsigned filter on a single row, relative to a signed MAC with the filter in a cache."""
FAR_FILTER = 500_000
"""Number of filter values from which twice as many exceed a core's caches and are read at half the speed."""
ROW_FLIP = 3e-7
"""Seconds to convert a row to unsigned values, or back."""
FAR = 1.15
"""Cost factor of a float32 depthwise convolution of a tensor in memory instead of a cache."""
FAR_CONVERSION = 2
"""Cost factor of conversions between quantized values and float32 in memory instead of a cache."""
UNALIGNED = 1.4
"""Cost factor of a float32 depthwise convolution whose depth is not a multiple of TILE."""
CACHE, NEAREST_CACHE = 500_000, 48_000
"""Maximum bytes of a float32 tensor that stays in a cache; of the data for one pixel of a depthwise convolution."""
TILE = 16
"""Channels that depthwise convolutions compute together; the minimum for signed convolutions."""
STEP = 8
"""Input channels that are multiplied together."""
MOST_SLICES = 3
"""Maximum copies that are appended one by one. The engine concatenates at most five tensors."""
FEWEST = 4
"""Number of pixels that are computed in the time of reading a filter from memory."""


def count_pixels(tensor: Tensor) -> int:
    """Return the number of pixels, or rows of a matrix, but at least FEWEST."""
    return max(tensor.size // tensor.shape[-1], FEWEST)


def round_up(dimension: int, step: int) -> int:
    return -(-dimension // step) * step


def estimate_dense(operator: Operator, taps: int | None = None, depth: int | None = None) -> float:
    """Return the seconds of a signed convolution, by default with its own taps and depth."""
    own_taps, own_depth = _count_taps(operator)
    out = operator.output
    depth = round_up(depth or own_depth, STEP)
    return current_timings().signed.seconds(count_pixels(out), out.shape[-1], taps or own_taps, depth)


def estimate_ways(operator: Operator, copies: Sequence[int]) -> dict[str, float]:
    """Return the additional seconds of each way to compute an operator whose filter needs copies of channels."""
    seconds = {"float": estimate_float(operator), "unsigned": estimate_unsigned(operator)}
    if len(set(copies)) == len(copies):
        seconds["doubled"] = estimate_doubling(operator)
    if len(copies) <= MOST_SLICES:
        seconds["appended"] = estimate_slices(operator, len(copies))
    return seconds


def estimate_copies(operator: Operator, copies: Sequence[int]) -> float:
    """Return the additional seconds of the fastest way; 0 if no copies are needed."""
    return min(estimate_ways(operator, copies).values()) if copies else 0.0


def estimate_slices(operator: Operator, copies: int) -> float:
    """Return the seconds to slice and concatenate copies, and to compute the additional channels."""
    x = operator.input(0)
    each = 2 * current_timings().concatenation + current_timings().slicing * copies
    return count_pixels(x) * each + x.size * current_timings().copying + _estimate_reading(operator, copies)


def estimate_doubling(operator: Operator) -> float:
    """Return the seconds to concatenate the input with itself, and to compute the additional channels."""
    x = operator.input(0)
    return (
        count_pixels(x) * 2 * current_timings().concatenation
        + 2 * x.size * current_timings().copying
        + _estimate_reading(operator, x.shape[-1])
    )


def estimate_float(operator: Operator) -> float:
    """Return the additional seconds of float32 instead of signed values."""
    out = operator.output
    conversions = _estimate_conversion(operator.input(0).size) + _estimate_conversion(out.size)
    if operator.kind == "DEPTHWISE_CONV_2D":
        more = _estimate_real_tiles(operator, round_up(out.shape[-1], TILE)) - estimate_depthwise(operator)
        return more + conversions
    taps, depth = _count_taps(operator)
    count, units = count_pixels(out), out.shape[-1]
    more = current_timings().real.seconds(count, units, taps, depth)
    return more - current_timings().signed.seconds(count, units, taps, round_up(depth, STEP)) + conversions


def estimate_dynamic_range(operator: Operator) -> float:
    """Return the seconds of 8-bit products with a quantized float input, minus those of float products."""
    taps, depth = _count_taps(operator)
    count, units = count_pixels(operator.output), operator.output.shape[-1]
    signed = current_timings().signed.seconds(count, units, taps, round_up(depth, STEP))
    return (
        signed
        + 2 * _estimate_conversion(operator.input(0).size)
        - current_timings().real.seconds(count, units, taps, depth)
    )


def estimate_unsigned(operator: Operator) -> float:
    """Return the additional seconds with the unsigned filter, including conversions to unsigned values and back.

    Infinite for a single row whose filter stays in a cache, and if unsigned values were not measured.
    """
    out, unsigned = operator.output, current_timings().unsigned
    taps, depth = _count_taps(operator)
    if out.size == out.shape[-1]:
        numbers = out.shape[-1] * taps * depth
        if numbers < FAR_FILTER:
            return math.inf
        return numbers * UNSIGNED_MAC * current_timings().signed.mac + 2 * ROW_FLIP - estimate_dense(operator)
    if unsigned is None:
        return math.inf
    flips = 2 * (_estimate_conversion(operator.input(0).size) + _estimate_conversion(out.size))  # by way of float32
    return unsigned.seconds(count_pixels(out), out.shape[-1], taps, depth) - estimate_dense(operator) + flips


def estimate_branches(operator: Operator, apart: int) -> float:
    """Return the additional seconds of a depthwise convolution with ``apart`` channels in float32."""
    x, out = operator.input(0), operator.output
    depth = out.shape[-1]
    parts = estimate_depthwise(operator, depth - apart) + _estimate_real_tiles(operator, apart)
    conversions = _estimate_conversion(count_pixels(x) * apart) + _estimate_conversion(count_pixels(out) * apart)
    joined = count_pixels(out) * 2 * current_timings().concatenation + out.size * current_timings().copying
    return parts - estimate_depthwise(operator, depth) + conversions + joined


def estimate_pairs(operator: Operator, taps: int) -> float:
    """Return the seconds of a dense convolution with ``taps`` taps that computes two pixels at a time."""
    out = operator.output
    depth = round_up(operator.input(1).shape[-1], STEP)
    return current_timings().signed.seconds(count_pixels(out) / 2, 2 * out.shape[-1], taps, depth)


def estimate_depthwise(operator: Operator, depth: int | None = None) -> float:
    """Return the seconds of a signed depthwise convolution, by default with all its channels."""
    depth = operator.output.shape[-1] if depth is None else depth
    return _count_tiles(operator, depth, current_timings().signed_depthwise)


def _estimate_real_tiles(operator: Operator, depth: int) -> float:
    taps, _ = _count_taps(operator)
    pixel, tile = current_timings().real_depthwise
    tile *= 1 if 4 * count_pixels(operator.input(0)) * depth <= CACHE else FAR
    tile *= 2 if 8 * taps * depth > NEAREST_CACHE else 1
    return (UNALIGNED if depth % TILE else 1.0) * _count_tiles(operator, depth, Depthwise(pixel, tile))


def _count_tiles(operator: Operator, depth: int, each: Depthwise) -> float:
    taps, _ = _count_taps(operator)
    return count_pixels(operator.output) * (each.pixel + taps * each.tile * -(-depth // TILE))


def _estimate_conversion(numbers: int) -> float:
    return numbers * current_timings().conversion * (1 if 4 * numbers <= CACHE else FAR_CONVERSION)


def _estimate_reading(operator: Operator, copies: int) -> float:
    """Return the additional seconds to multiply an input with ``copies`` more channels."""
    taps, depth = _count_taps(operator)
    steps = round_up(depth + copies, STEP) - round_up(depth, STEP)
    if not steps:
        return 0.0
    out = operator.output
    signed = current_timings().signed
    return count_pixels(out) * round_up(out.shape[-1], signed.tile) * taps * steps * signed.mac


def _count_taps(operator: Operator) -> tuple[int, int]:
    """Return the number of taps of a filter, and the input channels per tap."""
    shape = operator.input(1).shape
    if operator.kind == "DEPTHWISE_CONV_2D":
        return math.prod(shape[:-1]), 1
    return math.prod(shape[1:-1]), shape[-1]
