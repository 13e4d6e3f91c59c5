"""The tuner: one thread per process, begun at the first run. It prepares challengers and lets winners take over."""

from __future__ import annotations

import atexit
import ctypes
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from contextvars import copy_context

from nnapi.exits import may_join, skip_destructors
from nnapi.locks import make_lock
from nnapi.model.borrowed_memory import RevokedError
from nnapi.runtime.choice.knowledge import Predicted, Unknown
from nnapi.runtime.choice.paired_times import has_drifted
from nnapi.runtime.choice.question import Question
from nnapi.runtime.choice.schedule import Stage
from nnapi.runtime.choice.spare import Spare
from nnapi.runtime.choice.trial import EndedError, Owner, Trial
from nnapi.runtime.executors.prepared_partitions import ReadyPlan
from nnapi.runtime.settings import waits_for_trials
from nnapi.trace.log import Log

log = Log("nnapi.ExecutionPlan")

DELAY = 0.25
"""Seconds between the first run of a compilation and the preparation of challengers."""
TICK, IDLE_TICK, WATCH = 0.02, 0.5, 30.0
"""Seconds between steps while runs come; while none come; and between checks of decided plans for drift."""
ACTIVE = 1.0
"""Seconds after a run during which more runs are expected."""
INTERVAL = 0.02
"""Seconds between attempts to interrupt the thread, in which it can clean up."""


class StoppedError(BaseException):
    """Raised in the tuner's thread when the process ends. A BaseException, as drivers may catch every Exception."""


class Tuner:
    """Steps through all trials of the process, in turn."""

    def __init__(self) -> None:
        self._trials: list[tuple[weakref.ref[Trial], weakref.ref[Owner]]] = []
        self._lock = make_lock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._is_stopped = self._has_ended = False
        self._next_watch = 0.0

    def add(self, trial: Trial, owner: weakref.ref[Owner]) -> None:
        """Add a trial. The tuner holds only weak references to it and its owner."""
        with self._lock:
            if not any(known() is trial for known, _ in self._trials):
                self._trials.append((weakref.ref(trial), owner))
            if self._thread is None and not self._is_stopped:
                target = copy_context().run
                self._thread = threading.Thread(target=target, args=(self._work,), name="nnapi-tuner", daemon=True)
                try:
                    self._thread.start()
                except RuntimeError as error:
                    log.info("cannot start a thread for trials: %s", error)
                    self._thread = None
                    trial.stop()
        self._wake.set()

    def _work(self) -> None:
        try:
            try:
                while not self._is_stopped:
                    self._wake.wait(self.step())
                    self._wake.clear()
            finally:
                self._is_stopped = self._has_ended = True
        except StoppedError:
            return

    def step(self) -> float:
        """Take one step of each trial. Return the seconds until the next call."""
        delay = WATCH
        now = time.perf_counter()
        is_time_to_watch = now >= self._next_watch
        if is_time_to_watch:
            self._next_watch = now + WATCH
        for pair in list(self._trials):
            trial, owner = pair[0](), pair[1]()
            if trial is None or owner is None or trial.stage is Stage.CLOSED:
                self._trials.remove(pair)
                continue
            try:
                advance(trial, owner, now, is_time_to_watch=is_time_to_watch)
            except EndedError:
                pass
            except RevokedError as error:
                trial.stop(str(error))
            except Exception as error:
                log.warning("a trial of %s ends: %s: %s", trial.question.model.name, type(error).__name__, error)
                trial.stop()  # the next step tells the owner
            if trial.stage in (Stage.WAITING, Stage.COMPARING, Stage.WATCHING):
                delay = min(delay, TICK if now - trial.schedule.runs.end < ACTIVE else IDLE_TICK)
            del trial, owner
        return delay

    def stop(self, may_wait: Callable[[], bool] = lambda: True) -> None:
        """Interrupt and join the thread. A running call of an engine is waited for while ``may_wait``; then the
        destructors of engines must not run."""
        self._is_stopped = True
        self._wake.set()
        thread = self._thread
        while thread is not None and thread.is_alive() and may_wait():
            thread.join(INTERVAL)
            if thread.is_alive() and not self._has_ended:
                ident = ctypes.c_ulong(thread.ident or 0)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(StoppedError))
        if thread is not None and thread.is_alive():
            skip_destructors()
            return
        for reference, _ in list(self._trials):
            if trial := reference():
                trial.keep_progress()
                trial.stop()

    def forget(self) -> None:
        """Drop all trials, in a forked child, where the thread does not exist."""
        for reference, _ in self._trials:
            if trial := reference():
                trial.stop()
        self.__init__()  # type: ignore[misc]


def advance(trial: Trial, owner: Owner, now: float, *, is_time_to_watch: bool = False) -> None:
    """Take the next step of a trial: prepare, compare, conclude, or check for drift."""
    schedule = trial.schedule
    if trial.stage is Stage.OVER and trial.is_reported:  # stopped during a run
        trial.is_reported = False
        owner.use(trial.active, None)
    elif trial.stage is Stage.WAITING:
        if schedule.first_run and now - schedule.first_run >= DELAY:
            trial.prepare()
    elif trial.stage is Stage.COMPARING:
        if schedule.has_favorite or not trial.prepare_next():
            trial.use_gap()
        trial.judge()
        if ready := trial.change_over():
            owner.use(ready, trial)
    elif trial.stage is Stage.WATCHING:
        drifted = schedule.has_drifted(trial.recorded)
        if drifted:
            log.info("runs of %s no longer take the recorded time: a new trial begins", trial.question.model.name)
            trial.restart()
        elif drifted is False:
            trial.stop()
    elif is_time_to_watch and trial.recorded:
        trial.watch()
        owner.use(trial.active, trial)
    if schedule.is_decided and (ready := trial.conclude()):
        trial.is_reported = False
        owner.use(ready, None)


TUNER = Tuner()
"""The tuner of this process."""


def begin(
    question: Question, ready: ReadyPlan, knowledge: Predicted | Unknown, owner: Owner, spare: Spare
) -> tuple[ReadyPlan, Trial | None]:
    """Begin a trial, which the tuner continues from the owner's first run on. If compilations wait for trials, finish
    it here. Return the plan to run."""
    record = knowledge.record if isinstance(knowledge, Predicted) else None
    if waits_for_trials():
        from nnapi.runtime.choice.tune import decide_at_once  # on demand: by default nothing waits

        return decide_at_once(question, ready, record, spare.cover), None
    reference = weakref.ref(owner)
    return ready, Trial(question, ready, record, spare.cover, lambda trial: TUNER.add(trial, reference))


def watch(question: Question, ready: ReadyPlan, seconds: Sequence[float], owner: Owner, spare: Spare) -> None:
    """Watch a recorded plan for drift. Begin a trial at once if the first runs, ``seconds``, differ from the recorded
    time."""
    reference, recorded = weakref.ref(owner), ready.plan.measured
    trial = Trial(question, ready, None, spare.cover, lambda trial: TUNER.add(trial, reference))
    if recorded and has_drifted(sorted(seconds)[len(seconds) // 2], recorded):
        owner.use(ready, trial, trial)
        return
    trial.conclude_as_recorded(recorded)
    owner.use(ready, None, trial)
    TUNER.add(trial, reference)


def _end() -> None:
    """Stop the tuner at exit, before engines are unloaded."""
    if TUNER._thread is not None:
        sys.unraisablehook = _report_unraisable
    TUNER.stop(may_join)


def _report_unraisable(unraisable: sys.UnraisableHookArgs, /) -> None:
    """Report an error in a finalizer, unless it is the tuner's own StoppedError."""
    if not isinstance(unraisable.exc_value, StoppedError):
        sys.__unraisablehook__(unraisable)


atexit.register(_end)
os.register_at_fork(after_in_child=TUNER.forget)
