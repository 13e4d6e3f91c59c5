"""The first runs of a recorded or cached plan, compared with its recorded seconds."""

import math
import time
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING

from nnapi.locks import make_lock
from nnapi.model.operand import Array
from nnapi.runtime.behind_runs import do_behind_runs
from nnapi.runtime.choice.question import Question
from nnapi.runtime.choice.reports import find_report_after_first
from nnapi.runtime.choice.spare import Spare
from nnapi.runtime.executors.prepared_partitions import ReadyPlan

if TYPE_CHECKING:
    from nnapi.runtime.choice.trial import Owner

SKIPPED, TIMED = 2, 8
"""Number of warm-up runs, and of timed runs after them."""


class FirstRuns:
    """An observer that times the first runs, then lets the tuner watch the plan or begin a trial. That loads the tuner,
    which takes as long as many runs, so it happens behind them."""

    def __init__(self, owner: "Owner", question: Question, ready: ReadyPlan, spare: Spare) -> None:
        self._owner, self._question, self._ready, self._spare = weakref.ref(owner), question, ready, spare
        self._times: list[float] = []
        self._due = 0.0
        """The earliest time at which the tuner begins."""
        self._end = make_lock()
        """Taken for good by the run that completes the times: runs may end in several threads at once."""

    @property
    def threads(self) -> int | None:
        return self._ready.plan.threads

    def observe(
        self, inputs: Sequence[Array | None], outputs: Sequence[Array], begin: float, seconds: float, skips: int = 0
    ) -> float:
        if not self._times:
            self._due = find_report_after_first(begin, seconds)
        self._times.append(seconds)
        if len(self._times) < SKIPPED + TIMED:
            return 0.0
        if time.perf_counter() < self._due:
            return self._due
        if self._end.acquire(False):
            do_behind_runs(self._continue)
        return math.inf

    def _continue(self) -> None:
        from nnapi.runtime.choice import tuner  # on demand: many processes end earlier

        if owner := self._owner():
            tuner.watch(self._question, self._ready, self._times[SKIPPED : SKIPPED + TIMED], owner, self._spare)
