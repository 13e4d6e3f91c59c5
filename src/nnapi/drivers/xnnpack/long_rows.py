"""The length of rows that a reduction sums up: the engine's sums of quantized values overflow in long ones."""

from __future__ import annotations

from collections.abc import Collection, Sequence

LONGEST_ROW = 4096
"""Quantized values in a row that are summed up as such: sums of twice as many overflow on some processors."""


def count_row(shape: Sequence[int], axes: Collection[int]) -> int:
    """How many values that lie in a row become one along those axes."""
    count = 1
    for axis in reversed(range(len(shape))):
        if axis not in axes and shape[axis] > 1:
            break
        count *= shape[axis]
    return count
