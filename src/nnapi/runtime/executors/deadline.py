"""Deadlines: times of the monotonic clock in nanoseconds, None for no limit."""

import time
from collections.abc import Callable
from typing import TypeVar

from nnapi.contract.futures import answer_with, late_error
from nnapi.errors import BadDataError, need
from nnapi.runtime.executors.workers import run_in_background

T = TypeVar("T")

UNLIMITED = 2**64 - 1
"""A duration that means no limit in the C API, as 0 does."""

PATIENCE = 0.1
"""Seconds after a deadline in which the driver itself may still report the missed deadline."""


def deadline_after(duration: int) -> int | None:
    """Return the deadline ``duration`` ns from now; None for 0 and UNLIMITED."""
    return time.monotonic_ns() + duration if 0 < duration < UNLIMITED else None


def read_nanoseconds(duration: int) -> int:
    """Return a duration in ns as an integer; BadDataError for a fraction, which suggests seconds."""
    is_whole = duration == int(duration)
    need(is_whole, f"{duration!r} are not nanoseconds: {duration} s are {duration * 1e9:.0f} ns", BadDataError)
    return int(duration)


def pick_earlier(a: int | None, b: int | None) -> int | None:
    return a if b is None else b if a is None else min(a, b)


def run_in_time(work: Callable[[], T], deadline: int | None, who: str) -> T:
    """Return the result of ``work``; after the deadline, raise MissedDeadlineTransientError and abandon its thread."""
    if deadline is None:
        return work()
    from concurrent.futures import Future  # on demand: few callers set a limit

    answer: Future[T] = Future()
    run_in_background(lambda: answer_with(answer, work))
    try:
        return answer.result(max(0.0, (deadline - time.monotonic_ns()) / 1e9) + PATIENCE)
    except TimeoutError:
        if answer.done():  # the work itself raised a TimeoutError
            raise
        raise late_error(who) from None
