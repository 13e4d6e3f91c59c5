"""Split filters with outliers, which do not fit into signed bytes, into sums of two filters."""

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from nnapi.drivers.litert.outliers import REACH, find_outliers, found
from nnapi.formats.tflite.convolutions import Conv
from nnapi.formats.tflite.graph import Operator, Tensor
from nnapi.model.operand import Array

MOST_COPIES = 2
"""Maximum copies of a channel: three signed bytes add up to any difference of two bytes."""
UNCOVERED = "a number that does not fit has too few copies of its channel"


class Outliers(dict[Tensor, Array]):
    """Offsets of outliers in unsigned filters, found at first use."""

    def __missing__(self, filter: Tensor) -> Array:
        offsets = found.get(filter)
        self[filter] = offsets = find_outliers(filter.value, filter.zero_point) if offsets is None else offsets
        return offsets

    def find_slices(self, operator: Operator, axis: int) -> list[int]:
        """Return the indices along ``axis`` of the operator's unsigned filter at which there are outliers."""
        filter = Conv(operator).unsigned_filter
        if filter is None:
            return []
        within = math.prod(filter.shape[axis + 1 :])
        return _list_distinct(self[filter] // within % filter.shape[axis])

    def list_copies(self, filter: Tensor) -> list[int]:
        """Return the input channels to copy: those with outliers, twice if two signed bytes do not suffice."""
        offsets, depth = self[filter], filter.shape[-1]
        is_far = abs(_subtract_zero_point(filter, offsets)) > 2 * REACH
        return sorted(_list_distinct(offsets % depth) + _list_distinct(offsets[is_far] % depth))


def append_rest(filter: Tensor, outliers: Array, copies: Sequence[int]) -> Tensor:
    """Return the signed filter for an input that is followed by copies of channels.

    Values are clamped to ±127. The remainders are applied to the copies, which are in ascending order. The values are
    computed when the file is written.
    """
    shape = (*filter.shape[:-1], filter.shape[-1] + len(copies))
    result = filter.like(type="i8", shape=shape, scale=_repeat(filter.unit, filter.shape[0]), zero_point=0)
    result.write = partial(_write, filter, outliers, copies)
    return result


def _list_distinct(numbers: Array) -> list[int]:
    """Return distinct numbers in order; np.unique would import masked arrays, which takes 10 ms."""
    return sorted(set(numbers.tolist()))


def _write(filter: Tensor, outliers: Array, copies: Sequence[int], result: Array) -> None:
    depth = filter.shape[-1]
    np.subtract(filter.value, np.uint8(filter.zero_point), out=result[..., :depth].view(np.uint8))
    result[..., depth:].fill(0)
    matrix = result.reshape(-1, result.shape[-1])
    rows, channels = np.divmod(outliers, depth)
    rest = _subtract_zero_point(filter, outliers)
    matrix[rows, channels] = part = rest.clip(-REACH, REACH)
    rest -= part
    first, end = (np.searchsorted(copies, channels, side) for side in ("left", "right"))
    for number in range(MOST_COPIES):
        here = first + number < end
        matrix[rows[here], depth + first[here] + number] = part = rest[here].clip(-REACH, REACH)
        rest[here] -= part
    assert not rest.any(), UNCOVERED


def _subtract_zero_point(filter: Tensor, offsets: Array) -> Array:
    values: Array = filter.value.reshape(-1)[offsets].astype(np.int16) - filter.zero_point
    return values


def gather(tensor: Tensor, indices: Array, axis: int) -> Tensor:
    """Return the slices of a constant at ``indices`` along ``axis``."""
    data, scale = tensor.value.take(indices, axis), tensor.scale
    if not isinstance(scale, float) and axis == tensor.axis:
        scale = scale[indices]
    return tensor.like(shape=data.shape, scale=scale, data=data)


def replace_values(filter: Tensor, values: Array) -> Tensor:
    """Return a signed filter with ``values`` instead of an unsigned filter's, and a scale per channel."""
    scales = _repeat(filter.unit, values.shape[filter.axis])
    return filter.like(type="i8", shape=values.shape, scale=scales, zero_point=0, data=values)


def make_signed(filter: Tensor) -> Tensor:
    """Return an unsigned filter without outliers as a signed filter."""
    return replace_values(filter, np.subtract(filter.value, np.uint8(filter.zero_point)).view(np.int8))


def repeat_scale(bias: Tensor) -> Tensor:
    """Return a bias with its scale repeated per channel, for a signed filter."""
    return bias.like(scale=_repeat(bias.scale, bias.shape[0]), data=bias.value)


def _repeat(scale: float | Array, count: int) -> Array:
    return np.full(count, scale, np.float32)
