"""A trial: challengers run beside the active plan of a compilation, on the inputs of real runs, within a budget of
time. At the end, the fastest challenger may replace the active plan, between two runs."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import Protocol

from nnapi.locks import make_lock
from nnapi.model.borrowed_memory import hold
from nnapi.model.operand import Array
from nnapi.runtime.choice.active_runs import RECENT, ActiveRuns
from nnapi.runtime.choice.challenger import (
    Challenger,
    Inputs,
    compare_with,
    copy_arrays,
    count_runs,
    open_inference,
    time_runs,
    time_warm,
)
from nnapi.runtime.choice.evidence import Standing, has_drifted, log_ratio
from nnapi.runtime.choice.knowledge import replace_cached
from nnapi.runtime.choice.question import Question
from nnapi.runtime.choice.record import MEASURED, PREDICTED, Record, keep
from nnapi.runtime.executors.fast_path import is_dynamic
from nnapi.runtime.executors.observed import Observer
from nnapi.runtime.executors.prepared_partitions import ReadyPlan, prepare_plan
from nnapi.runtime.executors.stopwatch import Stopwatch
from nnapi.runtime.planning.plan import Plan
from nnapi.trace.log import Log

log = Log("nnapi.ExecutionPlan")

SHARE, GRACE = 0.05, 0.1
"""Budget of measurements: this share of the time spent in runs, plus this many seconds."""
HOPELESS = math.log(3.0)
"""A challenger is dropped without a pair if its log ratio when prepared is this much below the fastest plan's."""
BEHIND = 0.3
"""A plan with fewer than two pairs is dropped if its log ratio is this much below the best faster challenger's."""
SPIN = 0.0015
"""Seconds to wait before plans with several threads: idle threads of engines spin for a millisecond after a run."""
JUDGED = frozenset({1, 2, 4, 8, 16})
"""Pairs, counted from 1, whose results are compared."""


class Stage(Enum):
    WAITING = auto()
    """Waiting for the first runs, and for the tuner to prepare challengers."""
    COMPARING = auto()
    OVER = auto()
    WATCHING = auto()
    """Over; a few runs are timed to detect drift."""


class Owner(Protocol):
    """The part of a compilation that a trial uses."""

    def use(self, ready: ReadyPlan, observer: Observer | None, trial: Trial | None = None) -> None:
        """Run this plan from the next run on; report runs to ``observer``; keep ``trial`` alive."""
        ...


class Trial:
    """Compares challengers with the active plan. Runs call :meth:`observe`; the tuner calls all other methods."""

    def __init__(
        self,
        question: Question,
        active: ReadyPlan,
        record: Record | None = None,
        guard: Callable[[ReadyPlan], ReadyPlan] = lambda ready: ready,
        notify: Callable[[Trial], None] = lambda trial: None,
    ) -> None:
        """``guard`` wraps the plan that takes over. ``notify`` is called with the trial at the first run."""
        self.question, self.active, self.key = question, active, question.key
        self.stage = Stage.WAITING
        self.is_reported = True
        """Whether runs call :meth:`observe`."""
        self.recorded: float | None = None
        self.runs = ActiveRuns(is_dynamic=is_dynamic(question.model))
        self.cost = 0.0
        """Seconds spent in measurements."""
        self.first_run = 0.0
        self._guard, self._notify = guard, notify
        self._known = {each.description: each for each in (record.comparisons if record else ())}
        self.challengers: list[Challenger] = []
        self._plans: deque[Plan] = deque()
        """Challengers that are not prepared yet."""
        self._held: Question | None = None
        """The question, with a strong reference to the model's constants."""
        self._reference: tuple[float, Sequence[Array]] | None = None
        """The active plan's seconds and outputs on ``_sample``."""
        self._sample: Inputs | None = None
        self._opponent: Challenger | None = None
        self._before = 0.0
        """Seconds of the active run before ``_opponent`` ran once. The next active run completes the pair."""
        self._turn = make_lock()
        self._pending: deque[tuple[Challenger, Inputs, Sequence[Array], Sequence[Array]]] = deque()

    # Runs

    @property
    def threads(self) -> int | None:
        return self.active.plan.threads

    def observe(self, inputs: Inputs, outputs: Sequence[Array], begin: float, seconds: float) -> None:
        """Note a run of the active plan. If the budget allows and runs leave no gaps, measure a challenger after it."""
        if self.stage is Stage.OVER:
            return
        runs = self.runs
        is_beside = runs.arrive(begin, seconds)
        if self._opponent is not None:  # the run after a measurement has as cold caches
            if self._opponent.is_on_trial and not is_beside:
                self._opponent.add_pair(math.sqrt(self._before * seconds))
            self._opponent = None
            return
        if not runs.remember(seconds, is_beside=is_beside):
            return
        if self._sample is None and self.stage is Stage.WAITING:
            self._take_sample(inputs)
        if self.stage is not Stage.COMPARING or runs.have_gaps or self._plans or self._pending or is_beside:
            return
        challenger = self._find_next()
        wanted = 1 if runs.is_dynamic or challenger is None else count_runs(challenger.seconds)
        if challenger is None or len(runs.recent) < wanted or not self._turn.acquire(False):
            return
        try:
            if wanted > 1 or runs.is_dynamic:
                self._challenge(challenger, min(list(runs.recent)[-wanted:]), inputs, outputs)
                runs.forget()
            else:
                self._challenge(challenger, None, inputs, outputs)
                self._opponent, self._before = challenger, seconds
        except Exception as error:
            self.stop(f"a measurement fails: {error}")
        finally:
            self._turn.release()
            runs.end = time.perf_counter()

    def begin_on(self, inputs: Inputs) -> None:
        self._sample = inputs

    def _take_sample(self, inputs: Inputs) -> None:
        try:
            self._sample = copy_arrays(inputs)
        except MemoryError as error:
            self.stop(str(error))
            return
        self.first_run = time.perf_counter()
        self._notify(self)

    # The tuner

    def prepare(self) -> None:
        """Start comparing: list the challengers, and run the active plan for expected results."""
        sample, model = self._sample, hold(self.question.model)
        if sample is None or model is None:
            self.stop("the client has freed the model's constants")
            return
        from nnapi.runtime.choice.predict import list_challengers  # on demand: a process may end before

        self._held = self.question.about(model)
        watch = Stopwatch(self.runs.median, self.threads)
        with self.runs.beside_work():
            self._reference = time_warm(watch, open_inference(self.active, sample), sample)
            excluded = {self.active.plan.identity} | {name for name, known in self._known.items() if known.reason}
            self._plans = deque(list_challengers(self._held, self.threads, excluded))
        self.stage = Stage.COMPARING

    def prepare_next(self) -> bool:
        """Prepare and run the next challenger; drop it if it is far too slow or wrong. Return False if none is left."""
        question, sample, reference = self._held, self._sample, self._reference
        if not self._plans or question is None or sample is None or reference is None:
            return False
        with self.runs.beside_work():
            self.challengers.append(self._make_challenger(self._plans[0], question, sample, *reference))
            self._plans.popleft()
        return True

    def _make_challenger(
        self, plan: Plan, question: Question, sample: Inputs, seconds: float, expected: Sequence[Array]
    ) -> Challenger:
        known = self._known.get(plan.identity)
        slow = {device.name for device in question.devices if device.starts_slowly}
        is_doubtful = len(plan.devices) > 1 or not slow.isdisjoint({*plan.devices} - {*self.active.plan.devices})
        challenger = Challenger(plan, is_doubtful=is_doubtful, logs=known.logs if known else ())
        options = question.options._replace(threads=plan.threads)
        found = challenger.prepare(lambda: prepare_plan(plan, question.devices, options, question.cache), sample)
        if found is not None:
            challenger.judge(question.model, sample, expected, found)
            limit = max([0.0, *(each.first_gain for each in self.challengers if each.is_on_trial)]) - HOPELESS
            if log_ratio(seconds, challenger.seconds) < limit:  # the machine may have become slower
                seconds, _ = self._time_active(sample)
                while log_ratio(seconds, challenger.seconds) < limit and challenger.time_again(sample):
                    pass
            challenger.first_gain = log_ratio(seconds, challenger.seconds)
            if challenger.first_gain < limit:
                challenger.evidence.add(seconds, challenger.seconds)
                challenger.drop()
        return challenger

    def use_gap(self) -> None:
        """Measure a pair if no run has come for a while and the budget allows it."""
        if self.stage is Stage.COMPARING and self.runs.is_idle:
            self.measure_pair()

    def measure_pair(self, *, is_limited: bool = True) -> bool:
        """Measure the active plan and a challenger. Return False if none is left or the budget is spent."""
        challenger, sample = self._find_next(twice=True, is_limited=is_limited), self._sample
        if challenger is None or sample is None or not self._turn.acquire(False):
            return False
        try:
            end, self._opponent = self.runs.end, None
            watch = Stopwatch(self.runs.median, self.threads)
            (seconds, outputs), _, cost = watch.time(lambda: self._time_active(sample))
            self.cost += cost
            self._challenge(challenger, None, sample, outputs)
            if challenger.is_on_trial and self.runs.end == end:  # else a run came in between
                self.runs.recent.append(seconds)
                challenger.add_pair(seconds)
        finally:
            self._turn.release()
        return True

    def judge(self) -> None:
        """Compare the results of pairs; drop challengers that are far behind the best."""
        while self._pending and self._opponent is None:
            challenger, inputs, expected, found = self._pending[0]
            if not challenger.reason:
                with self.runs.beside_work():
                    challenger.judge((self._held or self.question).model, inputs, expected, found)
            if self._pending:  # else a run has ended the trial
                self._pending.popleft()
        best = max((each.log_gain for each in self.challengers if each.is_faster), default=None)
        for each in self.challengers:
            limit = 0.0 if len(each.evidence.logs) > 1 else BEHIND
            if each.is_on_trial and best is not None and each.log_gain < best - limit:
                each.drop()

    @property
    def is_decided(self) -> bool:
        return self.stage is Stage.COMPARING and not self._plans and not any(e.is_on_trial for e in self.challengers)

    def conclude(self) -> ReadyPlan:
        """End the trial and record its result. Return the plan to use."""
        self._opponent = None
        self.judge()
        winners = [each for each in self.challengers if each.is_faster and each.ready is not None]
        before, seconds = self.active.plan, self.runs.median
        comparisons = [each.describe() for each in self.challengers]
        if winners:
            best = max(winners, key=lambda each: each.evidence.log_gain)
            assert best.ready is not None
            chosen = self._guard(best.ready)
            seconds = best.seconds
            log.info("%s takes over from %s: %s", best.name, before.identity, best.evidence.describe())
            comparisons = compare_with(best, before.identity, self.challengers)
        else:
            chosen = self.active
        tried = {each.description for each in comparisons}
        comparisons += [each for name, each in self._known.items() if each.reason and name not in tried]
        record = Record.of(MEASURED, chosen.plan, seconds, comparisons)
        self.active = chosen._replace(plan=record.add_times(chosen.plan))
        self.recorded = seconds
        keep(self.question, self.key, record)
        replace_cached(self.question, before, self.active)
        self._end()
        return self.active

    def _end(self) -> None:
        self.stage = Stage.OVER
        self._sample = self._held = self._reference = None
        self._plans.clear()
        self._pending.clear()
        for each in self.challengers:
            each.close()

    def keep_progress(self) -> None:
        """Record the pairs so far, so that a later process continues."""
        if self.stage is Stage.COMPARING and any(each.evidence.logs for each in self.challengers):
            comparisons = [each.describe() for each in self.challengers]
            keep(self.question, self.key, Record.of(PREDICTED, self.active.plan, None, comparisons))

    def conclude_as_recorded(self, recorded: float | None) -> None:
        """End without a comparison: an earlier process has recorded the plan's seconds."""
        self.recorded, self.is_reported = recorded, False
        self._end()

    def stop(self, reason: str = "") -> None:
        if reason:
            log.info("%s: the trial ends: %s", self.question.model.name, reason)
        self._end()

    def watch(self) -> None:
        self.runs.forget()
        self.is_reported = True
        self.stage = Stage.WATCHING

    def has_drifted(self) -> bool | None:
        """Return whether runs take much longer or shorter than recorded; None until enough are timed."""
        if len(self.runs.recent) < RECENT or not self.recorded:
            return None
        return has_drifted(self.runs.median, self.recorded)

    def restart(self) -> None:
        self.challengers, self._sample, self.cost, self.runs.spent = [], None, 0.0, 0.0
        self._known = {name: each for name, each in self._known.items() if each.reason}
        self.stage = Stage.WAITING

    def describe(self) -> str:
        """Describe the state of the trial; empty once it is over."""
        if self.stage is Stage.COMPARING:
            found = [f"{each.name} ({each.evidence.describe()})" for each in self.challengers if each.is_on_trial]
            return f"on trial: {'; '.join(found)}" if found else "on trial"
        return "predicted: other plans are tried on real runs from now on" if self.stage is Stage.WAITING else ""

    # Within

    def _find_next(self, *, twice: bool = False, is_limited: bool = True) -> Challenger | None:
        """Return the most promising challenger; None if there is none or the budget does not permit its next pair."""
        waiting = [each for each in list(self.challengers) if each.is_on_trial]
        if not waiting:
            return None
        found = max(waiting, key=lambda each: each.promise)
        price = found.price + (count_runs(found.seconds) * self.runs.median if twice else 0.0)
        return found if not is_limited or self.cost + price <= GRACE + SHARE * self.runs.spent else None

    def _await_idle_threads(self) -> None:
        if self.threads != 1:
            time.sleep(SPIN)

    def _time_active(self, sample: Inputs) -> tuple[float, Sequence[Array]]:
        self._await_idle_threads()
        watch = Stopwatch(self.runs.median, self.threads)
        return time_runs(watch, open_inference(self.active, sample), sample)

    def _challenge(
        self, challenger: Challenger, active: float | None, inputs: Inputs, outputs: Sequence[Array]
    ) -> None:
        """Measure a challenger. ``active`` is the active plan's seconds; None if its next run completes the pair."""

        def measure() -> Sequence[Array] | None:
            self._await_idle_threads()
            found = challenger.measure_beside(active, inputs)
            if active is None:
                self._await_idle_threads()
            return found

        found, _, cost = Stopwatch(active or self.runs.median, self.threads).time(measure)
        self.cost, challenger.cost = self.cost + cost, cost
        number = len(challenger.evidence.logs) + (active is None)
        if found is not None and (number in JUDGED or challenger.standing is Standing.FASTER):
            self._pending.append((challenger, copy_arrays(inputs), copy_arrays(outputs), found))
