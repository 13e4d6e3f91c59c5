"""The seconds of runs for comparisons, without those in which other processes have the processor."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

LONG = 1e-3
"""Seconds of a run from which others are likely to interrupt it; asking takes 20 µs, twice."""


def read_waited() -> float:
    """Return the seconds that this thread has waited for a processor so far, as Linux counts them; 0 if it does not."""
    try:
        with open("/proc/thread-self/schedstat", "rb", 0) as file:
            return int(file.read().split()[1]) * 1e-9
    except (OSError, IndexError, ValueError):
        return 0.0


class Stopwatch:
    """Times runs of about the same length. Of long ones the time counts in which the thread has a processor, or waits
    for something else; of runs with several threads all counts, as others compute while one waits."""

    def __init__(self, expected: float = 0.0, threads: int | None = 1) -> None:
        """``expected`` seconds of the first run."""
        self.expected = self._last = expected
        self._is_alone = threads == 1

    def time(self, run: Callable[[], T]) -> tuple[T, float, float]:
        """Return the result of a run, its beginning by ``time.perf_counter``, and its seconds."""
        is_long, begin = self._is_alone and self._last > LONG, time.perf_counter()
        before = read_waited() if is_long else 0.0
        start = time.perf_counter()
        result = run()
        seconds = time.perf_counter() - start
        if is_long:  # the thread may have waited outside of the run too
            waited = read_waited() - before
            seconds = min(seconds, time.perf_counter() - begin - waited)
        self._last = seconds
        return result, begin, seconds
