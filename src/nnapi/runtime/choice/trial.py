"""A trial: challengers run beside the active plan of a compilation, on the inputs of real runs. At the end, the fastest
challenger may replace the active plan, between two runs.

The schedule decides what is measured, and the ledger records the evidence. The trial measures.
"""

from __future__ import annotations

import math
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, Protocol

from nnapi.locks import make_lock
from nnapi.model.borrowed_memory import hold, reading
from nnapi.model.model import Model
from nnapi.model.operand import Array
from nnapi.pauses import pause, resting_by
from nnapi.runtime.choice.challenger import COLD, Challenger, Inputs, copy_arrays, open_inference, time_runs, time_warm
from nnapi.runtime.choice.knowledge import replace_cached
from nnapi.runtime.choice.ledger import Ledger
from nnapi.runtime.choice.pacing import paced
from nnapi.runtime.choice.paired_times import LONG, log_ratio
from nnapi.runtime.choice.question import Question
from nnapi.runtime.choice.record import Record
from nnapi.runtime.choice.reports import find_next_report, find_report_after_first
from nnapi.runtime.choice.schedule import Schedule, Stage, Turn
from nnapi.runtime.executors.fast_path import is_dynamic
from nnapi.runtime.executors.observed import Observer
from nnapi.runtime.executors.prepared_partitions import ReadyPlan, prepare_plan
from nnapi.runtime.executors.stopwatch import Stopwatch
from nnapi.runtime.planning.plan import Plan
from nnapi.trace import mute
from nnapi.trace.log import Log

log = Log("nnapi.ExecutionPlan")

SPIN = 0.0015
"""Seconds to wait before plans with several threads: idle threads of engines spin for a millisecond after a run."""


class Owner(Protocol):
    """The part of a compilation that a trial uses."""

    def use(self, ready: ReadyPlan, observer: Observer | None, trial: Trial | None = None) -> None:
        """Run this plan from the next run on; report runs to ``observer``; keep ``trial`` alive."""
        ...


class EndedError(Exception):
    """The trial has ended while the tuner worked for it."""


class _Work(NamedTuple):
    """A comparison, until the trial ends. Measurements that are running then finish, without a result."""

    question: Question
    """The question, with a strong reference to the model's constants."""
    sample: Inputs
    seconds: float
    expected: Sequence[Array]
    """The active plan's seconds and outputs on ``sample``."""
    plans: deque[Plan]
    """Challengers that are not prepared yet."""
    results: deque[tuple[Challenger, Inputs, Sequence[Array], Sequence[Array]]]
    """Inputs, expected outputs and outputs of challengers, which are not compared yet."""


class Trial:
    """Compares challengers with the active plan. Runs call :meth:`observe`; the tuner calls other methods.

    One lock guards the schedule and each change of the stage. Runs of plans do not hold it.
    """

    def __init__(
        self,
        question: Question,
        active: ReadyPlan,
        record: Record | None = None,
        guard: Callable[[ReadyPlan], ReadyPlan] = lambda ready: ready,
        notify: Callable[[Trial], None] = lambda trial: None,
    ) -> None:
        """``guard`` wraps the plan that takes over. ``notify`` is called with the trial at the first run."""
        self.question, self.active = question, active
        self._cached = active.plan
        """The plan that the cache may hold, although another has taken over."""
        processors = len(os.sched_getaffinity(0))
        is_crowded = (active.plan.threads or processors) >= processors
        self.schedule = Schedule[Challenger](is_dynamic=is_dynamic(question.model), is_crowded=is_crowded)
        self.ledger = Ledger(question, record)
        self.is_reported = True
        """Whether runs call :meth:`observe`."""
        self.recorded: float | None = None
        self._guard, self._notify = guard, notify
        self._sample: Inputs | None = None
        self._is_seen = False
        self._expected: Sequence[Array] | None = None
        """The outputs of a long run on the sample, which is not repeated for them."""
        self._work: _Work | None = None
        self._lock = make_lock()
        self._using_client = make_lock()
        """Held while the tuner reads what belongs to the client: the active plan, and the question's model."""

    @property
    def stage(self) -> Stage:
        return self.schedule.stage

    @property
    def challengers(self) -> Sequence[Challenger]:
        return self.schedule.contenders

    # Runs

    @property
    def threads(self) -> int | None:
        return self.active.plan.threads

    def observe(self, inputs: Inputs, outputs: Sequence[Array], begin: float, seconds: float, skips: int = 0) -> float:
        """Note a run of the active plan; make the measurement that the schedule wants after it."""
        start, is_new = time.perf_counter(), not self._is_seen
        self._is_seen = True
        if is_new and (due := find_report_after_first(begin, seconds)):
            return due
        with self._lock:
            if self.stage in (Stage.OVER, Stage.CLOSED):
                return math.inf
            turn = self.schedule.note_run(begin, seconds, start, skips)
            is_first = self.stage is Stage.WAITING and self.schedule.first_run and self._sample is None
            work = self._work
        if is_first:
            self._take_sample(inputs, outputs if seconds >= LONG else None)
        if turn is None or work is None:
            return find_next_report(start, time.perf_counter())
        try:
            self._challenge(work, turn, inputs, outputs)
        except Exception as error:
            self.stop(f"a measurement fails: {error}")
        finally:
            with self._lock:
                self.schedule.end_turn(turn, time.perf_counter())
        return 0.0  # the next run may complete the pair

    def begin_on(self, inputs: Inputs) -> None:
        self._sample = inputs

    def _take_sample(self, inputs: Inputs, outputs: Sequence[Array] | None) -> None:
        try:
            self._expected = outputs and copy_arrays(outputs)
            self._sample = copy_arrays(inputs)
        except MemoryError as error:
            self.stop(str(error))
            return
        self._notify(self)

    # The tuner

    def prepare(self) -> None:
        """Start comparing: list the challengers, and run the active plan for expected results."""
        sample, model = self._sample, hold(self.question.model)
        if model is None:
            self.stop("the client has freed the model's constants")
        if model is None or sample is None:
            return
        question, seconds, expected = self.question.about(model), self.schedule.runs.median, self._expected
        watch = Stopwatch(seconds or math.inf, self.threads)
        with paced(self.schedule):
            from nnapi.runtime.choice.predict import list_challengers  # on demand: a process may end before
            from nnapi.runtime.costs.prices import predict_least

            self.schedule.predicted = predict_least(model, question.tables(self.threads))
            if expected is None:
                with self._use_client():
                    seconds, expected = time_warm(watch, open_inference(self.active, sample), sample)
            excluded = {self.active.plan.identity} | self.ledger.excluded
            plans = deque(list_challengers(question, self.threads, excluded))
        with self._lock:
            if self.stage is Stage.WAITING:
                self._work = _Work(question, sample, seconds, expected, plans, deque())
                self.schedule.stage, self.schedule.unprepared = Stage.COMPARING, len(plans)

    def prepare_next(self) -> bool:
        """Prepare and run the next challenger; drop it if it is far too slow or wrong. Return False if none is left."""
        work = self._work
        if work is None or not work.plans:
            return False
        with paced(self.schedule):
            challenger = self._make_challenger(work, work.plans[0])
        with self._lock:
            self._need(work)
            self.schedule.contenders.append(challenger)
            work.plans.popleft()
            self.schedule.unprepared = len(work.plans)
        return True

    def _make_challenger(self, work: _Work, plan: Plan) -> Challenger:
        question, sample, seconds = work.question, work.sample, work.seconds
        slow = {device.name for device in question.devices if device.starts_slowly}
        is_doubtful = len(plan.devices) > 1 or not slow.isdisjoint({*plan.devices} - {*self.active.plan.devices})
        challenger = Challenger(plan, is_doubtful=is_doubtful, logs=self.ledger.recall_pairs(plan))
        options = question.options._replace(threads=plan.threads)
        found = challenger.prepare(lambda: prepare_plan(plan, question.devices, options, question.cache), sample)
        if found is not None:
            self._need(work)
            pause()
            challenger.judge(question.model, sample, work.expected, found)
            pause()
            self._confirm(challenger, question.model, sample)
            limit = self.schedule.least_gain
            if challenger.seconds < COLD and log_ratio(seconds, challenger.seconds) < limit:
                # The machine may have become slower.
                seconds, _ = self._time_active(sample)
                while log_ratio(seconds, challenger.seconds) < limit and challenger.time_again(sample):
                    self._need(work)
            challenger.first_gain = log_ratio(seconds, challenger.seconds)
            if challenger.first_gain < limit:
                challenger.evidence.add(seconds, challenger.seconds)
                challenger.drop()
        return challenger

    def _confirm(self, challenger: Challenger, model: Model, sample: Inputs) -> None:
        def run_active(inputs: Inputs) -> Sequence[Array]:
            with self._use_client(), mute():
                return open_inference(self.active, inputs)(inputs)

        challenger.confirm(model, sample, run_active, self.active.plan.variant)

    def use_gap(self) -> None:
        """Measure a pair if no run has come for a while and the budget allows it."""
        if self.stage is Stage.COMPARING and self.schedule.runs.is_idle(time.perf_counter()):
            self.measure_pair()

    def measure_pair(self, *, is_limited: bool = True) -> bool:
        """Measure the active plan and a challenger. Return False if none is left or the budget is spent."""
        with self._lock:
            work, end = self._work, self.schedule.runs.end
            challenger = self.schedule.begin_pair(is_limited=is_limited) if work else None
        if work is None or challenger is None:
            return False
        watch = Stopwatch(self.schedule.runs.median, self.threads)
        (seconds, outputs), _, cost = watch.time(lambda: self._time_active(work.sample))
        self._challenge(work, Turn(challenger), work.sample, outputs)
        with self._lock:
            self._need(work)
            self.schedule.end_pair(challenger, seconds, cost, end)
        return True

    def judge(self) -> None:
        """Compare the results of pairs; drop challengers that are far behind the best."""
        work, schedule = self._work, self.schedule
        while work is not None and work.results and (schedule.opponent is None or schedule.is_long):
            challenger, inputs, expected, found = work.results[0]
            if not challenger.reason:
                with paced(self.schedule):
                    challenger.judge(work.question.model, inputs, expected, found)
            with self._lock:
                self._need(work)
                work.results.popleft()
                self.schedule.unjudged = len(work.results)
        with self._lock:
            self.schedule.drop_behind()

    def change_over(self) -> ReadyPlan | None:
        """Return the plan that takes over before the others are decided; None if there is none. The trial continues."""
        with self._lock:
            work, leader = self._work, self.schedule.leader
            ready = leader.ready if leader else None
            if work is None or leader is None or ready is None or work.results:
                return None
            self.schedule.promote(leader)
            self._work = work._replace(seconds=leader.seconds)
        with self._use_client():
            before = self.active.plan
            self.ledger.change_over(before, leader)
            self.active = self._guard(ready)
            self.keep_progress()
        log.info("%s takes over from %s: %s", leader.name, before.identity, leader.evidence.describe())
        return self.active

    def conclude(self) -> ReadyPlan | None:
        """End the trial and record its result. Return the plan to use; None if the trial has ended before."""
        self.schedule.opponent = None
        self.judge()
        with self._lock:
            if self.stage is not Stage.COMPARING or self._work is None:
                return None
            best, before = self.schedule.winner, self.active.plan
            seconds = self.schedule.runs.median or self._work.seconds  # without a challenger, nothing was paired
            winner = best.ready if best else None
            self._leave(Stage.OVER)
        chosen = self.active
        if best is not None and winner is not None:
            chosen, seconds = self._guard(winner), best.seconds
            log.info("%s takes over from %s: %s", best.name, before.identity, best.evidence.describe())
        with self._use_client():
            record = self.ledger.conclude(before, chosen.plan, seconds, self.challengers, best)
            self.active = chosen._replace(plan=record.add_times(chosen.plan))
            self.recorded = seconds
            replace_cached(self.question, self._cached, self.active)
            self._cached = self.active.plan
        return self.active

    def conclude_as_recorded(self, recorded: float | None) -> None:
        """End without a comparison: an earlier process has recorded the plan's seconds."""
        self.recorded, self.is_reported = recorded, False
        self.stop()

    def keep_progress(self) -> None:
        """Record the pairs so far, so that a later process continues."""
        if self.stage is Stage.COMPARING:
            self.ledger.keep_progress(self.active.plan, self.challengers)

    def stop(self, reason: str = "") -> None:
        """End without a result. The tuner may watch the plan later."""
        if reason:
            log.info("%s: the trial ends: %s", self.question.model.name, reason)
        with self._lock:
            self._leave(Stage.OVER)

    def close(self) -> None:
        """End for good, and wait until the tuner no longer runs the active plan: its owner frees it."""
        with self._lock:
            self._leave(Stage.CLOSED)
        with self._using_client:
            pass

    def _leave(self, stage: Stage) -> None:
        """Change to a stage without measurements. The caller holds the lock."""
        if self.stage is not Stage.CLOSED:
            self.schedule.stage = stage
        self._sample = self._expected = self._work = None
        for each in self.challengers:
            each.close()

    def watch(self) -> None:
        """Time a few runs."""
        with self._lock:
            if self.stage is Stage.OVER:
                self.schedule.runs.forget()
                self.is_reported, self.schedule.stage = True, Stage.WATCHING

    def restart(self) -> None:
        """Begin again, as runs no longer take the recorded time."""
        with self._lock:
            if self.stage is Stage.WATCHING:
                self.ledger.forget_pairs()
                self.schedule.restart()

    def describe(self) -> str:
        """Describe the state of the trial; empty once it is over."""
        if self.stage is Stage.COMPARING:
            found = [f"{each.name} ({each.evidence.describe()})" for each in [*self.challengers] if each.is_on_trial]
            return f"on trial: {'; '.join(found)}" if found else "on trial"
        return "predicted: other plans are tried on real runs from now on" if self.stage is Stage.WAITING else ""

    # Within

    def _need(self, work: _Work) -> None:
        """Raise EndedError if the trial has ended since ``work`` began."""
        if self._work is not work:
            raise EndedError

    @contextmanager
    def _use_client(self) -> Iterator[None]:
        """Read what belongs to the client; raise EndedError or RevokedError if the client has freed it."""
        with self._using_client, resting_by(None), reading(self.question.model):
            if self.stage is Stage.CLOSED:
                raise EndedError
            yield

    def _await_idle_threads(self) -> None:
        if self.threads != 1:
            time.sleep(SPIN)

    def _time_active(self, sample: Inputs) -> tuple[float, Sequence[Array]]:
        self._await_idle_threads()
        watch = Stopwatch(self.schedule.runs.median or math.inf, self.threads)
        with self._use_client():
            return time_runs(watch, open_inference(self.active, sample), sample)

    def _challenge(self, work: _Work, turn: Turn[Challenger], inputs: Inputs, outputs: Sequence[Array]) -> None:
        """Measure a challenger. ``outputs`` are the active plan's."""
        challenger, active = turn

        def measure() -> Sequence[Array] | None:
            self._await_idle_threads()
            found = challenger.measure(active, inputs)
            if active is None:
                self._await_idle_threads()
            return found

        found, _, cost = Stopwatch(active or self.schedule.runs.median, self.threads).time(measure)
        with self._lock:
            is_due = self.schedule.score(turn, cost)
        if found is not None and is_due:
            work.results.append((challenger, copy_arrays(inputs), copy_arrays(outputs), found))
            self.schedule.unjudged = len(work.results)
