"""Times of runs for comparisons, without the time in which other processes occupy the processor."""

import time
from collections.abc import Callable
from typing import TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

LONG = 1e-3
"""Seconds of a run from which interruptions are likely. Reading the wait time takes 20 µs, twice per run."""

ROUNDS = 5
"""Number of runs of each of two ways to run."""


def is_faster(one: Callable[[], object], other: Callable[[], object]) -> bool:
    """Compare the shortest runs of two ways to run, which take turns."""
    times = [(time_call(one), time_call(other)) for _ in range(ROUNDS)]
    return min(first for first, _ in times) < min(second for _, second in times)


def time_call(call: Callable[[], object]) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def read_waited(thread: int | str = "thread-self") -> float:
    """Return the seconds that a thread, by default this one, has waited for a processor, from Linux's schedstat; 0 if
    there is none."""
    try:
        with open(f"/proc/{thread}/schedstat", "rb", 0) as file:
            return int(file.read().split()[1]) * 1e-9
    except (OSError, IndexError, ValueError):
        return 0.0


class Stopwatch:
    """Times runs of similar length. For long runs on one thread, the time that the thread waits for a processor is left
    out. For several threads it counts, as others compute while one waits."""

    def __init__(self, expected: float = 0.0, threads: int | None = 1) -> None:
        """``expected`` is the likely seconds of the first run, infinite to leave out its waiting in any case.
        ``threads`` are those of the plan."""
        self.expected = self._last = expected
        self._is_alone = threads == 1

    def time(self, run: Callable[[*Ts], T], *given: *Ts) -> tuple[T, float, float]:
        """Return the result of ``run``, its begin by ``time.perf_counter``, and its seconds."""
        is_long, begin = self._is_alone and self._last > LONG, time.perf_counter()
        before = read_waited() if is_long else 0.0
        start = time.perf_counter()
        result = run(*given)
        seconds = time.perf_counter() - start
        if is_long:  # the thread may have waited outside of the run
            waited = read_waited() - before
            seconds = min(seconds, time.perf_counter() - begin - waited)
        self._last = seconds
        return result, begin, seconds
