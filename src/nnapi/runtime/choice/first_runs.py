"""The first runs of a plan that an earlier process has chosen: do they take as long as recorded?"""

from __future__ import annotations

import statistics
import weakref
from collections.abc import Sequence

from nnapi.model.operand import Array
from nnapi.runtime.choice.evidence import has_drifted
from nnapi.runtime.choice.knowledge import Unknown
from nnapi.runtime.choice.question import Question
from nnapi.runtime.executors.parts import ReadyPlan
from nnapi.runtime.settings import Partitioning

SKIPPED, TIMED = 2, 8
"""Runs that set up what later ones find, and runs that are timed after them."""


class FirstRuns:
    """Times the first runs; then the compilation runs the plain plan, or begins a trial."""

    def __init__(self, owner: object, question: Question, ready: ReadyPlan, mode: Partitioning) -> None:
        self._owner, self._question, self._ready, self._mode = weakref.ref(owner), question, ready, mode
        self._times: list[float] = []

    def observe(self, inputs: Sequence[Array | None], outputs: Sequence[Array], seconds: float) -> None:
        """Note a run."""
        self._times.append(seconds)
        owner, recorded = self._owner(), self._ready.plan.measured
        if len(self._times) != SKIPPED + TIMED or owner is None or not recorded:
            return
        if not has_drifted(statistics.median(self._times[SKIPPED:]), recorded):
            owner.use(self._ready, None)  # type: ignore[attr-defined]
            return
        from nnapi.runtime.choice import tuner  # on demand: plans rarely drift

        ready, trial = tuner.begin(self._question, self._ready, Unknown(), owner, self._mode)  # type: ignore[arg-type]
        owner.use(ready, trial and trial.observe, trial)  # type: ignore[attr-defined]
