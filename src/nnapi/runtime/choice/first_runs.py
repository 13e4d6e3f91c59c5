"""The first runs of a recorded or cached plan, compared with its recorded seconds."""

import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING

from nnapi.locks import make_lock
from nnapi.model.operand import Array
from nnapi.runtime.choice.question import Question
from nnapi.runtime.choice.spare import Spare
from nnapi.runtime.executors.prepared_partitions import ReadyPlan

if TYPE_CHECKING:
    from nnapi.runtime.choice.trial import Owner

SKIPPED, TIMED = 2, 8
"""Number of warm-up runs, and of timed runs after them."""


class FirstRuns:
    """An observer that times the first runs, then lets the tuner watch the plan or begin a trial."""

    def __init__(self, owner: "Owner", question: Question, ready: ReadyPlan, spare: Spare) -> None:
        self._owner, self._question, self._ready, self._spare = weakref.ref(owner), question, ready, spare
        self._times: list[float] = []
        self._end = make_lock()
        """Taken for good by the run that completes the times: runs may end in several threads at once."""

    @property
    def threads(self) -> int | None:
        return self._ready.plan.threads

    def observe(self, inputs: Sequence[Array | None], outputs: Sequence[Array], begin: float, seconds: float) -> None:
        self._times.append(seconds)
        is_enough = len(self._times) >= SKIPPED + TIMED
        if is_enough and self._end.acquire(False) and (owner := self._owner()):
            from nnapi.runtime.choice import tuner  # on demand: many processes end earlier

            tuner.watch(self._question, self._ready, self._times[SKIPPED : SKIPPED + TIMED], owner, self._spare)
