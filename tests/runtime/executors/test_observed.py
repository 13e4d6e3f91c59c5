"""Runs that are reported to an observer, with their seconds."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from nnapi.contract.driver import Handle, OpenOptions, Outcome, Request
from nnapi.model.operand import Array
from nnapi.runtime.executors import observed, stopwatch
from nnapi.runtime.executors.observed import observe_handle
from nnapi.trace import recording

X = np.array([1, 2], np.float32)
SHAPES = [(2,)]


class Clock:
    """Replaces the module time."""

    now = 100.0

    def perf_counter(self) -> float:
        return self.now


class Plan:
    """A prepared plan whose runs take 3 s on a clock."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.closed = 0

    def _run(self, inputs: Sequence[Array]) -> list[Array]:
        self._clock.now += 3
        return [2 * inputs[0]]

    def execute(self, request: Request) -> Outcome:
        return Outcome(self._run([X]), 7, 9)

    def open_handle(self, options: OpenOptions) -> Handle:
        call = None if options.shapes is None else self._run
        return Handle(self.execute, self.open_handle, call, [X] if options.bind else None, self.close)

    def close(self) -> None:
        self.closed += 1


class Noting:
    """Notes the runs that it is told of."""

    def __init__(self, threads: int | None = 1) -> None:
        self.threads = threads
        self.due = 0.0
        self.noted: list[tuple[Any, ...]] = []
        self.skipped: list[int] = []

    def observe(self, inputs: object, outputs: Sequence[Array], begin: float, seconds: float, skips: int = 0) -> float:
        self.noted.append((inputs, outputs[0].tolist(), begin, seconds))
        self.skipped.append(skips)
        return self.due


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    for module in (observed, stopwatch):
        monkeypatch.setattr(module, "time", found)
    monkeypatch.setattr(stopwatch, "read_waited", lambda: 0.0)
    return found


def observe(clock: Clock, observer: Noting, *options: Any) -> Handle:
    return observe_handle(Plan(clock).open_handle(OpenOptions(*options)), observer)


@pytest.mark.parametrize("path", ["general", "fast", "bound", "reopened"])
def test_each_run_is_reported_with_its_beginning_and_its_seconds(path: str, clock: Clock) -> None:
    observer, inputs = Noting(), [X]
    handle = observe(clock, observer, SHAPES)
    bound = handle.reopen(OpenOptions(SHAPES, bind=True))
    assert handle.call is not None
    assert bound.call is not None
    assert bound.inputs == inputs
    runs: dict[str, Callable[[Any], Sequence[Array]]] = {
        "general": lambda given: handle.execute(Request(given)).outputs,
        "fast": handle.call,
        "bound": bound.call,
        "reopened": lambda given: bound.execute(Request(given)).outputs,
    }
    for begin in (100.0, 103.0):
        assert runs[path](inputs)[0].tolist() == [2, 4]
        assert observer.noted[-1] == (inputs, [2, 4], begin, 3.0)
        assert observer.noted[-1][0] is inputs
    assert len(observer.noted) == 2


@pytest.mark.parametrize("is_fast", [False, True])
def test_runs_before_the_next_report_is_due_are_only_counted(is_fast: bool, clock: Clock) -> None:
    observer = Noting()
    handle = observe(clock, observer, SHAPES)
    assert handle.call is not None
    call = handle.call if is_fast else lambda given: [*handle.execute(Request(given)).outputs]
    observer.due = 112.0
    for _ in range(4):
        assert call([X])[0].tolist() == [2, 4]
    assert len(observer.noted) == 1
    reopened = handle.reopen(OpenOptions(SHAPES))
    reopened.execute(Request([X]))
    assert [begin for *_, begin, _ in observer.noted] == [100.0, 112.0]
    assert observer.skipped == [0, 3]


def test_the_times_of_a_driver_are_kept(clock: Clock) -> None:
    outcome = observe(clock, Noting()).execute(Request([X]))
    assert (outcome.hardware_ns, outcome.driver_ns) == (7, 9)


def test_runs_with_a_deadline_and_traced_ones_are_not_reported(clock: Clock) -> None:
    observer = Noting()
    observed = observe(clock, observer)
    observed.execute(Request([X], deadline=10**18))
    with recording():
        observed.execute(Request([X]))
    assert observer.noted == []


def test_a_plan_without_a_fast_path_has_none(clock: Clock) -> None:
    assert observe(clock, Noting()).call is None


def test_an_observed_handle_is_closed_like_its_own(clock: Clock) -> None:
    plan = Plan(clock)
    observe_handle(plan.open_handle(OpenOptions()), Noting()).close()
    assert plan.closed == 1


def test_without_an_observer_a_handle_stays_as_it_is(clock: Clock) -> None:
    handle = Plan(clock).open_handle(OpenOptions())
    assert observe_handle(handle, None) is handle


@pytest.mark.parametrize(("threads", "waited"), [(1, 2.0), (2, 3.0), (None, 3.0)])
def test_only_runs_of_one_thread_are_timed_without_waiting(
    threads: int | None, waited: float, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second run is known to be long, also if the handle was reopened; in it, others had the processor for a
    second."""
    observer, seen = Noting(threads), [0.0]
    monkeypatch.setattr(stopwatch, "read_waited", lambda: seen.append(seen[-1] + 1.0) or seen[-1])
    handle = observe(clock, observer, SHAPES)
    for each in (handle, handle.reopen(OpenOptions(SHAPES))):
        assert each.call is not None
        each.call([X])
    assert [seconds for *_, seconds in observer.noted] == [3.0, waited]
