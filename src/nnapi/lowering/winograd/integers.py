"""Convolutions of 8-bit values in float32, exactly: sums of integers, and of their halves and quarters.

A float32 holds each multiple of a unit up to 2**24 units. So no sum is rounded, in any order, if this bounds them all.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from nnapi.codes import OperandCode
from nnapi.lowering.winograd.transforms import MINUS_ONE, ONE, Transforms
from nnapi.model.call import Call
from nnapi.model.operand import Array, OperandType

BYTES = frozenset({OperandCode.TENSOR_QUANT8_ASYMM, OperandCode.TENSOR_QUANT8_ASYMM_SIGNED})
"""Types of images that become integers."""
MOST = 1 << 24
"""Integers up to here are float32 values."""
DIRECT: Transforms = None, None
CHUNK = 1 << 15
"""Values of a filter that are bounded together, as they fit into a processor's cache."""


class Integers(NamedTuple):
    """The operands of a quantized layer as integers: stored values minus zero points."""

    stored: Array
    zero_point: int
    bias: Array
    least: int
    greatest: int
    """The range of the image, which contains 0."""

    def filter(self) -> Array:
        return self.stored.astype(np.float32) - np.float32(self.zero_point)

    def are_exact(self, transforms: Transforms) -> bool:
        """Return whether no value between the image and the sums is rounded."""
        most = MOST / 2 ** sum(each is not None for each in transforms)
        filter, bias = self.filter(), abs(self.bias.astype(np.float64))
        step = max(1, CHUNK * len(filter) // filter.size)
        return all(
            (_find_largest(filter[part].astype(np.float64), self.least, self.greatest, each) + bias[part]).max() < most
            for each in (DIRECT, transforms)  # direct sums take less time to bound, and often decide
            for part in (slice(begin, begin + step) for begin in range(0, len(bias), step))
        )


def read_integers(call: Call, types: Mapping[int, OperandType | None], values: Mapping[int, Array]) -> Integers:
    """Return the integers of a call with a constant filter and bias."""
    (x, *_), (filter, *_), (bias, *_) = (call.operands[name] for name in ("input", "filter", "bias"))
    image, weights = types[x], types[filter]
    assert image is not None
    assert weights is not None
    limits = np.iinfo(image.dtype)
    zero = image.zero_point
    return Integers(values[filter], weights.zero_point, values[bias], limits.min - zero, limits.max - zero)


def find_multipliers(call: Call, types: Mapping[int, OperandType | None]) -> Array:
    """Return the factors from integer sums to results, one for each output channel, rounded as kernels round them."""
    (image, *_), (filter, *_) = (call.operands[name] for name in ("input", "filter"))
    x, weights = types[image], types[filter]
    assert x is not None
    assert weights is not None
    scales = weights.channel.scales if weights.channel else [weights.scale]
    found: Array = np.float32(x.scale) * np.array(scales, np.float32) / np.float32(call.results[0].scale)
    return found


def _bound(filter: Array, least: float, greatest: float) -> Array:
    """Return a bound of any partial sum of each output channel, for an image within a range that contains 0."""
    above, below = filter.clip(min=0).sum((1, 2, 3)), -filter.clip(max=0).sum((1, 2, 3))
    bound: Array = np.maximum(above * greatest - below * least, below * greatest - above * least)
    return bound


def _find_largest(filter: Array, least: float, greatest: float, transforms: Transforms) -> Array:
    """Return a bound of the products' partial sums and of sums of products, for each output channel."""
    axis = next((axis for axis in (0, 1) if transforms[axis]), None)
    transform = None if axis is None else transforms[axis]
    if axis is None or transform is None:
        return _bound(filter, least, greatest)
    rest = (None, transforms[1]) if axis == 0 else (None, None)
    found = []
    for row, taps in zip(transform.input, transform.filter, strict=True):
        above, below = row.clip(min=0).sum(), row.clip(max=0).sum()
        ends = above * least + below * greatest, above * greatest + below * least
        found.append(_find_largest(_combine_taps(filter, taps[np.newaxis], axis), *ends, rest))
    middle = np.zeros((2, len(transform.input)))
    middle[:, [ONE, MINUS_ONE]] = (1, 1), (1, -1)
    for factors in (*middle, *transform.output):
        taps = np.einsum("a,ap,ai->pi", factors, transform.input, transform.filter)
        found.append(_bound(_combine_taps(filter, taps, axis), least, greatest))
    largest: Array = np.max(found, 0)
    return largest


def _combine_taps(filter: Array, taps: Array, axis: int) -> Array:
    """Return the filter whose taps along an axis are sums of a filter's, with these factors."""
    combined: Array = np.moveaxis(np.tensordot(taps, filter, (1, 1 + axis)), 0, 1 + axis)
    return combined
