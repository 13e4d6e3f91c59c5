"""The pace of the tuner beside runs: it leaves them the interpreter, and the processors if they need all of them."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from nnapi.pauses import resting_by, switch_often
from nnapi.runtime.choice.schedule import C, Schedule
from nnapi.runtime.executors.stopwatch import read_waited

REST = 0.01
"""Seconds after which resting work asks again whether it may go on."""


@contextmanager
def paced(schedule: Schedule[C]) -> Iterator[None]:
    """Mark the time in which the tuner works: runs then take longer. Let it rest when the schedule wants that."""
    runs, waited = schedule.runs, 0.0

    def begin() -> None:
        nonlocal waited
        waited = read_waited()
        runs.begin_work(time.perf_counter())

    def end() -> None:
        runs.end_work(time.perf_counter(), read_waited() - waited)

    def rest() -> None:
        end()
        while seconds := schedule.find_rest(time.perf_counter()):
            time.sleep(min(seconds, REST))
        begin()

    begin()
    try:
        with switch_often(), resting_by(rest if schedule.is_crowded else None):
            yield
    finally:
        end()
