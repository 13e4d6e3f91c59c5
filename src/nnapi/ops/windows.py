"""Sliding windows along one axis of an array, computed one kernel position at a time, without a padded copy."""

from collections.abc import Iterator

import numpy as np

from nnapi.model.operand import Array

Step = tuple[slice, slice]
"""Output positions, and the paired input positions of one kernel position."""


def taps(dimension: int, size: int, stride: int, before: int, out: int) -> Iterator[tuple[int, Step]]:
    """Yield each kernel position that meets the input, with slices of the windows and of the input cells it pairs.

    ``before`` is the number of padding cells ahead of the ``dimension`` cells of input; ``out`` is that of windows.
    """
    first_met = max(0, before - (out - 1) * stride)
    for position in range(first_met, min(size, dimension + before)):
        shift = position - before
        first = max(0, -(shift // stride))
        last = min(out - 1, (dimension - 1 - shift) // stride)
        if first <= last:
            start = first * stride + shift
            yield position, (slice(first, last + 1), slice(start, last * stride + shift + 1, stride))


def reduce_windows(
    ufunc: np.ufunc, x: Array, axis: int, size: int, stride: int, before: int, out: int, initial: float
) -> Array:
    """Combine the cells of each window along ``axis`` by ``ufunc``; cells outside the array do not count."""
    x = np.moveaxis(x, axis, 0)
    y = np.full((out, *x.shape[1:]), initial, x.dtype)
    for _, (to, of) in taps(x.shape[0], size, stride, before, out):
        ufunc(y[to], x[of], out=y[to])
    return np.moveaxis(y, 0, axis)
