"""Work behind the runs of a program, and the comparison of two ways to run."""

import time
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from functools import partial

from nnapi.errors import NnapiError
from nnapi.runtime.executors.workers import run_in_background
from nnapi.runtime.settings import waits_for_trials

ROUNDS = 5
"""Number of runs of each way, in turn; the shortest counts."""


def do_behind_runs(work: Callable[[], None]) -> None:
    """Do work, which must not raise, in the background, or at once if runs wait for trials."""
    if waits_for_trials():
        work()
        return
    with suppress(NnapiError):  # no thread can be started
        run_in_background(partial(copy_context().run, work))


def is_faster(one: Callable[[], object], other: Callable[[], object]) -> bool:
    times = [(_measure(one), _measure(other)) for _ in range(ROUNDS)]
    return min(first for first, _ in times) < min(second for _, second in times)


def _measure(run: Callable[[], object]) -> float:
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin
