"""Timing of calls."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence

Call = Callable[[], object]


def time_call(call: Call) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def time_series(call: Call, number: int) -> float:
    """Return the mean seconds of ``number`` calls that are too short to be timed alone."""
    start = time.perf_counter()
    for _ in range(number):
        call()
    return (time.perf_counter() - start) / number


def time_turns(calls: Sequence[Call], seconds: float, least: int = 1, most: float = math.inf) -> Iterator[list[float]]:
    """Yield the seconds of each call, in turns: for ``seconds`` together, within ``least`` and ``most`` turns."""
    count, end = 0, time.perf_counter() + seconds
    while count < least or (count < most and time.perf_counter() < end):
        yield [time_call(call) for call in calls]
        count += 1


def time_calls(call: Call, seconds: float, least: int = 1, most: float = math.inf) -> Iterator[float]:
    """Yield the seconds of consecutive calls, as :func:`time_turns`."""
    return (turn[0] for turn in time_turns([call], seconds, least, most))
