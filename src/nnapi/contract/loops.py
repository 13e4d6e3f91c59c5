"""The time limit of loops inside an engine, which cannot be interrupted.

Each loop gets a number of turns that it may take, and returns how many are left. If none are left, the engine has ended
the loop too early. The run is then repeated with more turns, unless it took longer than the limit.
"""

import time
from collections.abc import Callable, Sequence
from typing import TypeAlias

from nnapi.contract.driver import DEFAULT_LOOP_TIMEOUT, LoopTimeoutError, Request
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
"""Factor by which the turns grow from one call of the engine to the next, until the next call takes the whole limit."""
MARGIN = 1.5
"""Factor of the limit for which the turns suffice, so that a loop that uses all of them has reached the limit, even if
its turns are faster than before."""

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
        self._turns = self._usual = tuple(first)
        """The turns to begin with, and those within the default time limit."""
        self._seconds_per_turn = 0.0
        """0 before the first measurement."""
        self._seconds_outside: float | None = None
        """Seconds of a run in which no loop takes a turn; None before they are measured."""

    def __bool__(self) -> bool:
        return bool(self._turns)

    def run_once(self, run: Run) -> None:
        """Run within the turns of the default time limit; raise OpFailedError if a loop needs more."""
        need(min(run(self._usual)) > 0, "a loop needs more turns", OpFailedError)

    def run(self, run: Run, request: Request) -> None:
        """Run until all loops have ended. LoopTimeoutError if they take longer than the request permits."""
        limit = request.loop_timeout / 1e9
        turns = self._limit_turns(limit)
        while True:
            begin = time.perf_counter()
            left, failure = _attempt(run, turns)
            spent = time.perf_counter() - begin
            is_measured = spent > limit and self._seconds_outside is None
            is_late = spent > limit and spent - self._measure_outside(run) > limit * len(turns)
            if is_late or (min(left) <= 0 and max(turns) == MOST_TURNS):
                said = f"the loop ran longer than {request.loop_timeout} ns, its limit by set_loop_timeout"
                raise failure or LoopTimeoutError(said)
            if failure is None:
                self._learn(turns, left, spent)
            if min(left) > 0:
                if is_measured:  # that has replaced the results
                    run(turns)
                return
            if request.deadline is not None and time.monotonic_ns() > request.deadline:
                raise MissedDeadlineTransientError("the time limit passed in a loop")
            last = MARGIN * limit / max(spent, 1e-9)
            turns = _grow(turns, left, GROWTH if last > GROWTH**2 else max(last, MARGIN))

    def _learn(self, turns: Sequence[int], left: Sequence[int], spent: float) -> None:
        """Note the seconds of a turn, and the turns that were sufficient. If none are left, the measurement counts for
        more, as most of the run's time was that of the turns."""
        used = [count - rest for count, rest in zip(turns, left, strict=True)]
        if min(left) > 0:
            enough = [min(count, 2 * taken) for count, taken in zip(turns, used, strict=True)]
            self._turns = tuple(map(max, self._turns, enough))
        seconds = max(spent - (self._seconds_outside or 0.0), 1e-9) / max(sum(used), 1)
        is_typical = min(left) <= 0 or not self._seconds_per_turn or seconds < self._seconds_per_turn
        self._seconds_per_turn = seconds if is_typical else self._seconds_per_turn
        self._usual = self._limit_turns(DEFAULT_LOOP_TIMEOUT / 1e9)

    def _limit_turns(self, limit: float) -> tuple[int, ...]:
        """Return the turns for a run, without those that would take longer than the limit."""
        if not self._seconds_per_turn:
            return self._turns
        most = max(1, int(MARGIN * limit / self._seconds_per_turn))
        return tuple([min(turns, most) for turns in self._turns])

    def _measure_outside(self, run: Run) -> float:
        if self._seconds_outside is None:
            begin = time.perf_counter()
            _attempt(run, [0] * len(self._turns))
            self._seconds_outside = time.perf_counter() - begin
        return self._seconds_outside


def _attempt(run: Run, turns: Sequence[int]) -> tuple[Sequence[int], NnapiError | None]:
    """Return the turns that are left, or none and the engine's error, which may be due to a loop that was ended too
    early. Raise the error if more turns are impossible."""
    try:
        return run(turns), None
    except NnapiError as error:
        if max(turns) == MOST_TURNS:
            raise
        return [0] * len(turns), error


def _grow(turns: Sequence[int], left: Sequence[int], growth: float) -> tuple[int, ...]:
    """Return more turns for the loops that have used theirs."""
    more = [min(MOST_TURNS, int(count * growth) + 1) for count in turns]
    return tuple([most if rest <= 0 else count for most, count, rest in zip(more, turns, left, strict=True)])
