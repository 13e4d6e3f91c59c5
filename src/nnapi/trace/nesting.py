"""Spans of one thread as nested begin and end marks."""

from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")


def begin_and_end_marks(intervals: Iterable[tuple[float, float, T]]) -> list[tuple[float, T, bool]]:
    """Return (time, interval, whether it begins) in order, for (start, end, interval) sorted by start, outer ones
    first. An interval ends at the latest with the enclosing one, even if coroutines take turns."""
    found: list[tuple[float, T, bool]] = []
    open_ones: list[tuple[float, T]] = []
    for start, end, what in intervals:
        while open_ones and open_ones[-1][0] <= start and (open_ones[-1][0] < start or end > start):
            closed, other = open_ones.pop()
            found.append((closed, other, False))
        found.append((start, what, True))
        open_ones.append((min(end, open_ones[-1][0]) if open_ones else end, what))
    found += [(end, what, False) for end, what in reversed(open_ones)]
    return found
