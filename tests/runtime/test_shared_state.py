"""State that several threads write. Each test forces the order of steps in which a thread would see half a change."""

import contextlib
import copy
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

import numpy as np
import pytest

from nnapi import Builder, Compilation, Device, DurationCode, Execution, HardwareBuffer, compile, tensor
from nnapi.contract.driver import PrepareOptions
from nnapi.errors import BadStateError, need
from nnapi.runtime import memory, run_many
from nnapi.runtime.event import Event
from nnapi.runtime.executors.prepared_partitions import ReadyPlan, prepare_plan
from nnapi.runtime.run_many import Single
from nnapi.runtime.specializations import Specializations
from tests.runtime.device_cases import GIVEN, Scripted, as_it_is, chain, chained
from tests.waiting import comes_true

PATIENCE = 60.0
"""Seconds after which a test that waits for another thread fails."""


class WatchedLock:
    """A lock that tells when a second thread waits for it."""

    def __init__(self) -> None:
        self.lock, self.is_awaited = threading.Lock(), threading.Event()

    def __enter__(self) -> None:
        if not self.lock.acquire(False):
            self.is_awaited.set()
            self.lock.acquire()

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.lock.release()


def winner_of(compilation: Compilation) -> ReadyPlan:
    """Return another plan for the same device."""
    plan = copy.copy(compilation.plan)
    plan.notes = ("winner",)
    return prepare_plan(plan, [Device(Scripted(as_it_is))], PrepareOptions(), None)


def test_the_end_of_a_computation_is_noted_once_and_before_any_waiter_goes_on() -> None:
    """A late note would end the next computation of a reusable execution."""
    lock, log = WatchedLock(), list[str]()

    def wait() -> None:
        event.close()
        log.append("went on")

    def note() -> None:
        other.start()
        assert lock.is_awaited.wait(PATIENCE), "the other went on"
        log.append("noted")

    other = threading.Thread(target=wait)
    event = Event(lambda: None, observed=note)
    event._observing = lock  # type: ignore[assignment]
    event.close()
    other.join(PATIENCE)
    assert log == ["noted", "went on"]


def test_a_duration_is_read_from_one_outcome() -> None:
    """Another thread may begin the next computation in between."""

    class Racing(Execution):
        reads = 0

        @property
        def _outcome(self) -> Any:
            self.reads += 1
            return self._kept if self.reads == 1 else None

        @_outcome.setter
        def _outcome(self, outcome: Any) -> None:
            self._kept = outcome

    execution = Racing(compile(chain(), Device(Scripted(as_it_is))))
    execution.set_measure_timing(True)
    execution.set_input(0, GIVEN)
    execution.set_output(0, np.empty_like(GIVEN))
    execution.compute()
    execution.reads = 0
    assert execution.duration(DurationCode.DURATION_ON_HARDWARE) is None


def test_threads_that_begin_many_runs_prepare_the_plan_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compilation = compile(chain(), Device(Scripted(as_it_is)))
    lock, found = WatchedLock(), list[Any]()
    compilation._preparing = lock  # type: ignore[assignment]
    prepare = run_many.prepare_single

    def run() -> None:
        found.append(list(compilation.run_many([GIVEN], requests=2)))

    def prepare_slowly(*given: Any) -> Single | None:
        calls.append(given)
        other.start()
        assert lock.is_awaited.wait(PATIENCE), "the other prepares too"
        return prepare(*given)

    calls, other = list[Any](), threading.Thread(target=run)
    monkeypatch.setattr(run_many, "prepare_single", prepare_slowly)
    run()
    other.join(PATIENCE)
    assert (len(calls), len(found)) == (1, 2)


def test_a_plan_that_changes_while_it_is_prepared_for_many_runs_is_prepared_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compilation = compile(chain(), Device(Scripted(as_it_is)))
    winner = winner_of(compilation)
    prepare = run_many.prepare_single

    def change_meanwhile(ready: ReadyPlan, *given: Any) -> Single | None:
        monkeypatch.setattr(run_many, "prepare_single", prepare)
        other.start()
        assert comes_true(lambda: compilation.need_active().ready is winner)
        return prepare(ready, *given)

    other = threading.Thread(target=compilation.use, args=(winner, None))
    monkeypatch.setattr(run_many, "prepare_single", change_meanwhile)
    assert list(compilation.run_many([], requests=2)) == []
    other.join(PATIENCE)
    assert compilation._single is not None
    assert compilation._single.active.ready.plan.notes == ("winner",)


def test_a_compilation_may_be_closed_while_its_plan_changes() -> None:
    class Racing(Compilation):
        reads = 0

        @property
        def _single(self) -> Any:
            self.reads += 1
            return Single(self.need_active(), self.model, PrepareOptions()) if self.reads == 1 else None

        @_single.setter
        def _single(self, single: Any) -> None: ...

    compilation = Racing(chain(), [Device(Scripted(as_it_is))])
    compilation.finish()
    compilation.reads = 0
    compilation.use(winner_of(compilation), None)
    assert compilation.reads == 1


@pytest.mark.parametrize("is_first", [True, False])
def test_a_plan_and_its_trial_change_together(is_first: bool) -> None:
    """A thread that closes the compilation meanwhile closes the trial of the plan that is active."""

    class Stopped:
        closings = 0

        def close(self) -> None:
            self.closings += 1

    compilation = compile(chain(), Device(Scripted(as_it_is)))
    winner = winner_of(compilation)
    trial: Any = Stopped()
    steps: list[Callable[[], object]] = [
        compilation.close,
        lambda: compilation.use(winner, None, trial),
    ]
    for step in steps if is_first else steps[::-1]:
        step()
    assert compilation.active is None
    assert trial.closings == (0 if is_first else 1)


def make_specializations() -> Specializations:
    def compile_for(shapes: Any, device: str | None, is_cached: bool) -> Compilation:
        b = Builder("abs")
        b.output(b.abs(b.input(tensor("float32", shapes[0]))))
        return compile(b.finish(), "nnapi-reference")

    return Specializations(compile_for)


def test_the_seconds_of_padded_runs_are_added_under_a_lock() -> None:
    class Watched(dict[Any, float]):
        def __setitem__(self, key: Any, value: float) -> None:
            locked.append(found._spending.locked())
            super().__setitem__(key, value)

    found, locked = make_specializations(), list[bool]()
    found._spent = Watched()
    for size in (1, 2, 3, 3):
        np.testing.assert_array_equal(found.run([-np.ones(size, np.float32)])[0], np.ones(size))
    assert locked
    assert all(locked)


def test_specializations_are_explained_as_they_were_at_one_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    found = make_specializations()
    found.run([np.ones(1, np.float32)])
    items = found._made.items

    def list_items() -> Any:
        assert found._lock.locked(), "another thread may add one"
        return items()

    monkeypatch.setattr(found._made, "items", list_items)
    assert "inputs [1]: compiled" in found.explain()


def test_a_burst_that_is_made_while_the_plan_changes_follows_it() -> None:
    compilation = compile(chain(), Device(Scripted(as_it_is)))
    winner = winner_of(compilation)
    bursts = [compilation.burst() for _ in range(3)]
    compilation.use(winner, None)
    bursts.append(compilation.burst())
    for burst in bursts:
        np.testing.assert_array_equal(burst.run(GIVEN)[0], chained())
        assert burst._prepared is winner.prepared


def test_of_two_threads_only_one_locks_a_buffer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each looks whether the buffer is locked before the other goes on."""
    buffer, looked, locked = HardwareBuffer(4), threading.Barrier(2), list[memoryview]()

    def look(*words: Any) -> None:
        looked.wait()
        need(*words)

    def lock() -> None:
        with contextlib.suppress(BadStateError):
            locked.append(buffer.lock())

    monkeypatch.setattr(memory, "need", look)
    threads = [threading.Thread(target=lock) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(locked) == 1
