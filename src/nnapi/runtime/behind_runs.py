"""Work behind the runs of a program."""

from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from functools import partial

from nnapi.errors import NnapiError
from nnapi.pauses import switch_often
from nnapi.runtime.executors.workers import run_in_background
from nnapi.runtime.settings import waits_for_trials


def do_behind_runs(work: Callable[[], None]) -> None:
    """Do work, which must not raise, in the background, or at once if runs wait for trials."""
    if waits_for_trials():
        work()
        return
    with suppress(NnapiError):  # no thread can be started
        run_in_background(partial(copy_context().run, _work_beside, work))


def _work_beside(work: Callable[[], None]) -> None:
    with switch_often():
        work()
