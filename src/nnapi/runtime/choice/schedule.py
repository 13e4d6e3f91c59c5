"""The schedule of a trial: what to measure next, given the evidence, the recent runs and the budget.

It runs nothing and reads no clock: its caller passes the time, makes the measurements and reports them.
"""

import math
from enum import Enum, auto
from typing import Generic, NamedTuple, TypeVar

from nnapi.runtime.choice.active_runs import RECENT, ActiveRuns
from nnapi.runtime.choice.paired_times import LONG, Contender, Standing, count_runs, has_drifted

SHARE, GRACE = 0.05, 0.1
"""Budgets of measurements: this share of the time spent in runs, and a grace of this many seconds. Measurements in
idle time may spend the grace at once; those after runs get it little by little, in shares of the same size."""
BESIDE_RUNS, ABSURD = 0.1, 2.5
"""If runs need all processors, challengers are prepared between runs and in this share of the time spent in them, after
the same grace; at once if runs take more than the second number of times the least predicted seconds."""
WORTH, AHEAD = math.log(1.15), 4
"""A contender with a log ratio above this value is measured before others are prepared. The time lost by staying with
the active plan is then part of the budget: the time lost since the contender was prepared, and in this number of runs
to come."""
LEAD = math.log(1.05)
"""A contender that proves faster by this log ratio takes over at once, and the others are compared with it."""
HOPELESS = math.log(3.0)
"""A challenger is dropped without a pair if its log ratio when prepared is this much below the fastest plan's."""
BEHIND = 0.3
"""A plan is dropped if its log ratio is this much, divided by the root of its pairs, below the best faster one's."""
JUDGED = frozenset({1, 2, 4, 8, 16})
"""Pairs, counted from 1, whose results are compared."""

C = TypeVar("C", bound=Contender)


class Stage(Enum):
    WAITING = auto()
    """Waiting for the first runs, and for challengers to be prepared."""
    COMPARING = auto()
    OVER = auto()
    WATCHING = auto()
    """Over; a few runs are timed to detect drift."""
    CLOSED = auto()
    """Over for good."""


class Turn(NamedTuple, Generic[C]):
    """A measurement of a contender. ``active`` is the active plan's seconds; None if they are not known yet."""

    contender: C
    active: float | None = None


class Schedule(Generic[C]):
    def __init__(self, *, is_dynamic: bool, is_crowded: bool = False) -> None:
        """``is_dynamic`` is as for :class:`ActiveRuns`. ``is_crowded``: a run needs all processors."""
        self.is_crowded = is_crowded
        self.predicted = 0.0
        """The seconds of the fastest device, as predicted; 0 if they are not known."""
        self.stage = Stage.WAITING
        self.runs = ActiveRuns(is_dynamic=is_dynamic)
        self.first_run = 0.0
        """Time of the first run that counts; 0 before."""
        self.contenders: list[C] = []
        self.unprepared = self.unjudged = 0
        """Numbers of contenders to prepare, and of results to compare, before the next measurement beside a run."""
        self.cost = self.idle_cost = self.lost = 0.0
        """Seconds spent in measurements after runs, and in idle time; those that the most promising contender would
        have saved."""
        self.opponent: C | None = None
        """The contender that ran once, and whose pair the next active run completes."""
        self._before = 0.0
        """Seconds of the active run before ``opponent`` ran."""
        self._is_measuring = self._is_idle = False
        """Whether a contender is measured; whether in idle time."""

    def note_run(self, begin: float, seconds: float, now: float, skipped: int = 0) -> Turn[C] | None:
        """Note a run of the active plan that ends ``now``, after ``skipped`` others. Return the measurement to make
        after it: none if runs leave gaps, or if the budget is spent."""
        runs = self.runs
        is_beside = runs.arrive(begin, seconds, now, skipped)
        self.lost += (1 + skipped) * seconds * self.saving
        is_second = self.opponent is not None
        if self.opponent is not None:  # the run after a measurement has as cold caches
            opponent, self.opponent = self.opponent, None
            if not is_beside:
                opponent.add_pair(math.sqrt(self._before * seconds))
        elif not runs.remember(seconds, is_beside=is_beside):
            return None
        self.first_run = self.first_run or now
        return None if is_beside else self._begin_turn(seconds, is_second=is_second)

    def _begin_turn(self, seconds: float, *, is_second: bool) -> Turn[C] | None:
        """Return the measurement to make after a run of ``seconds``; ``is_second``: it follows one."""
        runs, is_busy = self.runs, self._is_measuring or (self.unjudged and not self.is_long)
        if self.stage is not Stage.COMPARING or is_busy or runs.have_gaps or self.leader:
            return None
        found = self.find_next() if not self.unprepared or self.has_favorite else None
        wanted = 1 if runs.is_dynamic or found is None else count_runs(found.seconds)
        active = runs.find_shortest(wanted)
        if found is None or active is None or (is_second and wanted > 1):
            return None
        self._is_measuring, self._before = True, seconds
        return Turn(found, active if wanted > 1 or runs.is_dynamic else None)

    def score(self, turn: Turn[C], cost: float) -> bool:
        """Note a measurement that took ``cost`` seconds. Return whether its results should be compared."""
        contender, active = turn
        contender.cost = cost
        self._spend(cost)
        if active is not None:
            contender.add_pair(active)
        number = len(contender.evidence.logs) + (active is None)
        return number in JUDGED or contender.standing is Standing.FASTER

    def end_turn(self, turn: Turn[C], now: float) -> None:
        """End a measurement beside a run."""
        self._is_measuring, self.runs.end = False, now
        if turn.active is None:
            self.opponent = turn.contender
        else:
            self.runs.forget()

    def begin_pair(self, *, is_limited: bool = True) -> C | None:
        """Return the contender to measure now with the active plan; None if there is none, if the budget is spent, or
        during another measurement."""
        found = None if self._is_measuring else self.find_next(twice=True, is_limited=is_limited)
        if found is not None:
            self._is_measuring, self._is_idle, self.opponent = True, True, None
        return found

    def end_pair(self, contender: C, active: float, cost: float, end: float) -> None:
        """Note the active plan's seconds, measured in ``cost`` seconds. The pair does not count if a run came after
        ``end``."""
        self._spend(cost)
        self._is_measuring = self._is_idle = False
        if self.runs.end == end:
            self.runs.recent.append(active)
            contender.add_pair(active)

    def _spend(self, cost: float) -> None:
        if self._is_idle:
            self.idle_cost += cost
        else:
            self.cost += cost

    def find_next(self, *, twice: bool = False, is_limited: bool = True) -> C | None:
        """Return the most promising contender; None if there is none or the budget does not permit its next pair.
        ``twice``: in idle time, with runs of the active plan."""
        if waiting := [each for each in self.contenders if each.is_on_trial]:
            found = max(waiting, key=lambda each: each.promise)
        elif rivals := self.rivals:
            found = min(rivals, key=lambda each: len(each.evidence.logs))
        else:
            return None
        runs = self.runs
        share = SHARE * runs.spent
        budget = share + self.lost + AHEAD * runs.median * self.saving
        if twice:
            spent, grace = self.idle_cost + found.price + count_runs(found.seconds) * runs.median, GRACE
        else:
            spent, grace = self.cost + found.price, min(GRACE, share)
        return found if not is_limited or spent <= budget + grace else None

    def find_rest(self, now: float) -> float:
        """Return the seconds that the tuner's work should rest so that runs have the processors; 0 if it may go on."""
        runs = self.runs
        is_preparing = self.stage in (Stage.WAITING, Stage.COMPARING)
        if not (self.is_crowded and is_preparing) or self.is_urgent or runs.is_idle(now):
            return 0.0
        if self.predicted and runs.fastest > ABSURD * self.predicted:  # other processes slow the median
            return 0.0
        return max(runs.find_debt(BESIDE_RUNS) - GRACE, 0.0) / BESIDE_RUNS

    @property
    def is_long(self) -> bool:
        """Whether runs are so long that a comparison of results hardly disturbs one."""
        return self.runs.median >= LONG

    @property
    def saving(self) -> float:
        """The share of a run that the most promising contender is likely to save; 0 if that is little."""
        gain = max((each.log_gain for each in self.contenders if each.is_on_trial or each.is_faster), default=0.0)
        return 1.0 - math.exp(-gain) if gain > WORTH else 0.0

    @property
    def has_favorite(self) -> bool:
        """Whether a contender should be measured, or take over, before others are prepared. Where runs need all
        processors, preparing takes long."""
        return self._is_ahead(LEAD if self.is_crowded else WORTH)

    @property
    def is_urgent(self) -> bool:
        """Whether a contender is so far ahead that the tuner's work should not rest."""
        return self._is_ahead(WORTH)

    def _is_ahead(self, gain: float) -> bool:
        return any(each.log_gain > gain for each in self.contenders if each.is_on_trial or each.is_faster)

    @property
    def leader(self) -> C | None:
        """The contender that should take over before the others are decided."""
        best = self.winner
        is_due = self.stage is Stage.COMPARING and self._is_left and not self._is_measuring
        return best if best is not None and is_due and best.evidence.log_gain > LEAD else None

    def promote(self, leader: C) -> None:
        """Continue with ``leader`` as the active plan, and a new budget."""
        self.drop_behind()
        rivals = self.rivals
        self.contenders.remove(leader)
        for each in self.contenders:
            if each in rivals:
                each.reopen()
            elif each.is_faster:
                each.drop()
            each.rebase(leader.evidence.log_gain)
        self.runs.change(leader.seconds)
        self.cost = self.idle_cost = self.lost = self.predicted = 0.0
        self.opponent = None

    @property
    def least_gain(self) -> float:
        """The log ratio below which a plan is dropped when it is prepared."""
        return max([0.0, *(each.first_gain for each in self.contenders if each.is_on_trial)]) - HOPELESS

    def drop_behind(self) -> None:
        """Drop contenders that are far behind the best."""
        best = max((each.log_gain for each in self.contenders if each.is_faster), default=None)
        for each in self.contenders:
            limit = BEHIND / math.sqrt(len(each.evidence.logs) or 1)
            if each.is_on_trial and best is not None and each.log_gain < best - limit:
                each.drop()

    @property
    def rivals(self) -> list[C]:
        """The contenders that proved faster, if their pairs leave open which of them is the fastest."""
        best = self.winner
        if best is None:
            return []
        others = [each for each in self.contenders if each.is_faster and each is not best]
        close = [each for each in others if each.evidence.may_exceed(best.evidence)]
        return [best, *close] if close else []

    @property
    def is_decided(self) -> bool:
        return self.stage is Stage.COMPARING and not self._is_left

    @property
    def _is_left(self) -> bool:
        """Whether there is something left to prepare or to measure."""
        return bool(self.unprepared or any(each.is_on_trial for each in self.contenders) or self.rivals)

    @property
    def winner(self) -> C | None:
        faster = [each for each in self.contenders if each.is_faster]
        return max(faster, key=lambda each: each.evidence.log_gain, default=None)

    def has_drifted(self, recorded: float | None) -> bool | None:
        """Return whether runs take much longer or shorter than recorded; None until enough are timed."""
        if len(self.runs.recent) < RECENT or not recorded:
            return None
        return has_drifted(self.runs.median, recorded)

    def restart(self) -> None:
        """Wait for runs again, without the evidence so far."""
        self.stage, self.contenders, self.first_run = Stage.WAITING, [], 0.0
        self.cost = self.idle_cost = self.lost = 0.0
        self.runs.begin_budget()
        self.unprepared = self.unjudged = 0
        self.opponent, self._is_measuring, self._is_idle = None, False, False
