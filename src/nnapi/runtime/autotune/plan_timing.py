"""Timing of plans that were made ready: turn by turn, each after a pause, until it is clear which is fastest."""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Sequence
from functools import partial

from nnapi.drivers.base import Request
from nnapi.errors import NnapiError
from nnapi.runtime.autotune.cpu_load import count_waited_seconds, time_undisturbed
from nnapi.runtime.executors.parts import ReadyPlan
from nnapi.runtime.planning.plan import Plan
from nnapi.trace.log import Log

log = Log("nnapi.ExecutionPlan")

BUDGET = 0.1
"""Seconds for all turns together; exceeded only where a few runs of each plan take longer."""
TURNS = 12
SURE = 2
"""Turns that every plan has that is not hopeless, even beyond the budget; one, where even that takes long."""
LONG = 10
"""Budgets after which even the turns that are sure have an end."""
TURN = 0.003
"""Seconds of runs in one turn; at least one run."""
SETTLE = 0.0015
"""Seconds before a turn: engines' idle threads keep the processors busy for one millisecond after a run."""
HOPELESS = 3.0
"""A plan that takes this many times the best time has no more turns."""
DOUBTFUL = 0.01
"""Seconds up to which a run may be as long because the machine was busy: a plan is not hopeless for that at first."""
MARGIN = 1.05
"""A divided plan must be this much faster than the best of one device."""
TIE = 1.03
"""Of plans this near to the fastest one that starts quickly is chosen, and of these the one that suffers least from a
pause: most runs come after one."""


class PlanTiming:
    """A plan, what runs it where that was made, and what its runs took so far."""

    def __init__(self, plan: Plan, request: Request) -> None:
        self.plan = plan
        self.ready: ReadyPlan | None = None
        self.seconds = math.inf
        """The shortest run; infinite where there was none or one failed. The first run counts until there is another:
        it also sets up what later ones find."""
        self.paused = math.inf
        """The shortest run after a pause."""
        self._request = request
        self._runs = 0
        self._has_failed = False

    @property
    def is_divided(self) -> bool:
        return len(self.plan.devices) > 1

    def run(self) -> float:
        """Run once. Returns the seconds, infinite where it fails."""
        assert self.ready is not None
        if self._has_failed:
            return math.inf
        try:
            seconds = time_undisturbed(partial(self.ready.prepared.execute, self._request))
        except NnapiError as error:
            log.info("%s failed while plans were compared: %s", self.plan.name, error)
            self._has_failed, self.seconds = True, math.inf
            return math.inf
        self.seconds = seconds if self._runs == 1 else min(self.seconds, seconds)
        self._runs += 1
        return seconds

    def take_turn(self) -> None:
        """Run after a pause, and again until the turn is over."""
        time.sleep(SETTLE)
        end = time.perf_counter() + TURN
        self.paused = min(self.paused, self.run())
        while time.perf_counter() < end and not self._has_failed:
            self.run()


def compare(timings: Sequence[PlanTiming], budget: float = BUDGET) -> None:
    """Give turns to plans that ran once: to all that are not hopeless, the fastest of their runs compared. What others
    had of the processor is not taken from the budget."""
    begin = time.perf_counter() - count_waited_seconds()
    for turn in range(TURNS):
        for timing in _select_promising(timings, turn):
            spent = time.perf_counter() - count_waited_seconds() - begin
            if turn and spent > (LONG if turn < SURE else 1) * budget:
                return
            timing.take_turn()


def _select_promising(timings: Sequence[PlanTiming], turn: int) -> list[PlanTiming]:
    """Those that are not hopeless. One first run may just have been in the way of what happens once in a process: that
    says nothing against a plan that is predicted to be faster."""
    running = [timing for timing in timings if timing.seconds < math.inf]
    if not running:
        return []
    best = min(running, key=lambda timing: timing.seconds)
    limit = max(HOPELESS * best.seconds, DOUBTFUL if turn < SURE else 0)
    return [
        timing
        for timing in running
        if timing.seconds <= limit or (turn == 0 and timing.plan.predicted < best.plan.predicted)
    ]


def rank(timings: Sequence[PlanTiming], slow: Collection[str] = ()) -> list[PlanTiming]:
    """The one to choose first, then by time; those that failed and those that were not made ready last. ``slow`` are
    devices that start slowly: every process would wait for it that runs the model."""
    ranked = sorted(timings, key=lambda each: (each.ready is None, each.seconds * (MARGIN if each.is_divided else 1)))
    first = ranked[0]
    near = [each for each in ranked if not each.is_divided and each.seconds <= TIE * first.seconds < math.inf]
    chosen = first
    if near and not first.is_divided:
        chosen = min(near, key=lambda each: (each.plan.devices[0] in slow, each.paused))
    return [chosen, *(timing for timing in ranked if timing is not chosen)]
