"""Spans of one thread as begin and end marks that nest, for trace files that have no spans."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")


def brackets(intervals: Iterable[tuple[float, float, T]]) -> list[tuple[float, T, bool]]:
    """(time, interval, whether it begins) in order, for (start, end, interval) in the order of starting.

    Of intervals that start together the outer one comes first. One that would outlast the one around it, as where
    coroutines take turns, is cut off with it: marks cannot say otherwise.
    """
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
