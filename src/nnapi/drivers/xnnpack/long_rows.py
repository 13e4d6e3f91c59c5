"""The length of reduced rows: in long ones the engine's sums of quantized values overflow."""

from __future__ import annotations

from collections.abc import Collection, Sequence

LONGEST_ROW = 4096
"""The most quantized values in a row that are summed; twice as many overflow on some processors."""


def count_row(shape: Sequence[int], axes: Collection[int]) -> int:
    """Return the number of adjacent values that the reduction of those axes combines."""
    count = 1
    for axis in reversed(range(len(shape))):
        if axis not in axes and shape[axis] > 1:
            break
        count *= shape[axis]
    return count
