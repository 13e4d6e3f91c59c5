"""The pace of the tuner beside runs: it leaves them the interpreter, and the processors if they need all of them."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from nnapi.pauses import resting_by
from nnapi.runtime.choice.schedule import C, Schedule

SWITCH = 2e-4
"""Seconds that a run waits at most for the interpreter while the tuner works. Python's default is 5 ms, many times the
length of a short run."""
REST = 0.01
"""Seconds after which resting work asks again whether it may go on."""


@contextmanager
def paced(schedule: Schedule[C]) -> Iterator[None]:
    """Mark the time in which the tuner works: runs then take longer. Let it rest when the schedule wants that."""
    runs = schedule.runs

    def rest() -> None:
        runs.end_work(time.perf_counter())
        while seconds := schedule.find_rest(time.perf_counter()):
            time.sleep(min(seconds, REST))
        runs.begin_work(time.perf_counter())

    runs.begin_work(time.perf_counter())
    try:
        with switch_often(), resting_by(rest):
            yield
    finally:
        runs.end_work(time.perf_counter())


@contextmanager
def switch_often() -> Iterator[None]:
    """Let other threads have the interpreter soon, unless the program has set the interval."""
    before = sys.getswitchinterval()
    if before <= SWITCH:
        yield
        return
    sys.setswitchinterval(SWITCH)
    during = sys.getswitchinterval()
    try:
        yield
    finally:
        if sys.getswitchinterval() == during:
            sys.setswitchinterval(before + 5e-7)  # Python cuts it to microseconds
