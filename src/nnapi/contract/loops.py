"""The time limit of loops inside an engine, which cannot be interrupted.

Each loop gets a number of turns that it may take, and returns how many are left. If none are left, the engine has ended
the loop too early. The run is then repeated with more turns, unless it took longer than the limit.
"""

import time
from collections.abc import Callable, Sequence
from typing import TypeAlias

from nnapi.contract.driver import LoopTimeoutError, Request
from nnapi.errors import MissedDeadlineTransientError, NnapiError, OpFailedError, need
from nnapi.model.model import Model
from nnapi.model.nesting import list_nested

MOST_TURNS = 2**31 - 1
FIRST_SECONDS = 0.02
"""Seconds that the first turns of a loop are expected to take, by rough costs."""
FIRST_TURNS = 2, 4096
"""Minimum and maximum of the first turns."""
PER_OPERATION, PER_MAC, PER_BYTE = 1e-6, 1e-9, 1e-9
"""Rough seconds of a turn, on the safe side."""
GROWTH = 8.0
"""Maximum factor by which the turns grow from one call of the engine to the next."""
MARGIN = 1.25
"""Factor of the limit for which the turns suffice, so that a loop that is cut has reached the limit."""

Run: TypeAlias = Callable[[Sequence[int]], Sequence[int]]
"""A call of the engine: takes the turns of each loop, returns those that are left."""


def choose_first_turns(condition: Model, body: Model) -> int:
    """Return the turns that a loop may take in its first run, from the work of its models."""
    from nnapi.contract.workload import find_work  # on demand: only compilations need it

    models = {each: None for model in (condition, body) for each in list_nested(model)}
    works = [find_work(each, call) for each in models for call in each.operations]
    seconds = sum(PER_OPERATION + PER_MAC * work.macs + PER_BYTE * work.nbytes for work in works)
    least, most = FIRST_TURNS
    return max(least, min(most, int(FIRST_SECONDS / max(seconds, PER_OPERATION))))


class TurnLimits:
    """The turns that the loops of a prepared model may take: more after each run that needed more."""

    def __init__(self, first: Sequence[int]) -> None:
        self._turns = tuple(first)
        self._seconds_per_turn = 0.0
        """As measured when the engine ended a loop too early; 0 before."""
        self._seconds_outside: float | None = None
        """Seconds of a run in which no loop takes a turn; None before they are measured."""

    def __bool__(self) -> bool:
        return bool(self._turns)

    def run_once(self, run: Run) -> None:
        """Run without regard to time; raise OpFailedError if a loop needs more turns."""
        need(min(run(self._turns)) > 0, "a loop needs more turns", OpFailedError)

    def run(self, run: Run, request: Request) -> None:
        """Run until all loops have ended. LoopTimeoutError if they take longer than the request permits."""
        limit = request.loop_timeout / 1e9
        turns = self._turns_within(limit)
        while True:
            begin, failure = time.perf_counter(), None
            try:
                left = run(turns)
            except NnapiError as error:  # maybe from values of a loop that was ended too early
                if max(turns) == MOST_TURNS:
                    raise
                left, failure = [0] * len(turns), error
            spent = time.perf_counter() - begin
            is_cut = min(left) <= 0
            was_repeated = False
            if spent > limit:
                was_repeated = self._seconds_outside is None
                inside = spent - self._measure_outside(run)
                if inside > limit * len(turns):
                    said = f"the loop ran longer than {request.loop_timeout} ns, its limit by set_loop_timeout"
                    raise failure or LoopTimeoutError(said)
            if not is_cut:
                self._turns = tuple(map(max, self._turns, turns))
                if was_repeated:
                    run(turns)
                return
            if request.deadline is not None and time.monotonic_ns() > request.deadline:
                raise MissedDeadlineTransientError("the time limit passed in a loop")
            if failure is None:
                self._seconds_per_turn = max(spent / sum(map(int.__sub__, turns, left)), 1e-9)
            growth = min(GROWTH, max(MARGIN, MARGIN * limit / max(spent, 1e-9)))
            turns = tuple(
                min(MOST_TURNS, int(count * growth) + 1) if rest <= 0 else count
                for count, rest in zip(turns, left, strict=True)
            )

    def _turns_within(self, limit: float) -> tuple[int, ...]:
        if not self._seconds_per_turn:
            return self._turns
        most = max(1, int(MARGIN * limit / self._seconds_per_turn))
        return tuple([min(turns, most) for turns in self._turns])

    def _measure_outside(self, run: Run) -> float:
        if self._seconds_outside is None:
            begin = time.perf_counter()
            try:
                run([0] * len(self._turns))
            except NnapiError:
                return 0.0
            self._seconds_outside = time.perf_counter() - begin
        return self._seconds_outside
