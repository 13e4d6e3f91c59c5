"""Runs that are reported to an observer, with their seconds."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from nnapi.contract.driver import Bound, Inference, Outcome, Request
from nnapi.model.operand import Array, Shape
from nnapi.runtime.executors import stopwatch
from nnapi.runtime.executors.observed import Observed, report_runs
from nnapi.trace import recording

X = np.array([1, 2], np.float32)


class Clock:
    """Replaces the module time."""

    now = 100.0

    def perf_counter(self) -> float:
        return self.now


class Plan:
    """A prepared plan whose runs take 3 s on a clock."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.sessions = 0
        self.has_fast_path = True

    def _run(self, inputs: Sequence[Array]) -> list[Array]:
        self._clock.now += 3
        return [2 * inputs[0]]

    def execute(self, request: Request) -> Outcome:
        return Outcome(self._run([X]), 7, 9)

    def session(self) -> "Plan":
        self.sessions += 1
        return self

    def direct(self, shapes: Sequence[Shape], borrow: bool) -> Inference | None:
        return self._run if self.has_fast_path else None

    def bind(self, shapes: Sequence[Shape]) -> Bound | None:
        return Bound([X], lambda: self._run([X])) if self.has_fast_path else None

    def close(self) -> None: ...


class Noting:
    """Notes the runs that it is told of."""

    def __init__(self, threads: int | None = 1) -> None:
        self.threads = threads
        self.noted: list[tuple[Any, ...]] = []

    def observe(self, inputs: object, outputs: Sequence[Array], begin: float, seconds: float) -> None:
        self.noted.append((inputs, outputs[0].tolist(), begin, seconds))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(stopwatch, "time", found)
    monkeypatch.setattr(stopwatch, "read_waited", lambda: 0.0)
    return found


@pytest.mark.parametrize("path", ["general", "fast", "bound", "session"])
def test_each_run_is_reported_with_its_beginning_and_its_seconds(path: str, clock: Clock) -> None:
    plan, observer, inputs = Plan(clock), Noting(), [X]
    observed = Observed(plan, observer)
    direct, bound = observed.direct([(2,)], False), observed.bind([(2,)])
    assert direct is not None
    assert bound is not None
    runs: dict[str, Callable[[], Sequence[Array]]] = {
        "general": lambda: observed.execute(Request(inputs)).outputs,
        "fast": lambda: direct(inputs),
        "bound": bound.run,
        "session": lambda: observed.session().execute(Request(inputs)).outputs,
    }
    for begin in (100.0, 103.0):
        assert runs[path]()[0].tolist() == [2, 4]
        assert observer.noted[-1] == (inputs, [2, 4], begin, 3.0)
    assert len(observer.noted) == 2
    assert plan.sessions == (2 if path == "session" else 0)


def test_the_times_of_a_driver_are_kept(clock: Clock) -> None:
    outcome = Observed(Plan(clock), Noting()).execute(Request([X]))
    assert (outcome.hardware_ns, outcome.driver_ns) == (7, 9)


def test_runs_with_a_deadline_and_traced_ones_are_not_reported(clock: Clock) -> None:
    observer = Noting()
    observed = Observed(Plan(clock), observer)
    observed.execute(Request([X], deadline=10**18))
    with recording():
        observed.execute(Request([X]))
    assert observer.noted == []


def test_a_plan_without_a_fast_path_has_none(clock: Clock) -> None:
    plan = Plan(clock)
    plan.has_fast_path = False
    observed = Observed(plan, Noting())
    assert observed.direct([(2,)], False) is None
    assert observed.bind([(2,)]) is None


@pytest.mark.parametrize(("threads", "waited"), [(1, 2.0), (2, 3.0), (None, 3.0)])
def test_only_runs_of_one_thread_are_timed_without_waiting(
    threads: int | None, waited: float, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second run is known to be long; in it, others had the processor for a second."""
    observer, plan, seen = Noting(threads), Plan(clock), [0.0]
    monkeypatch.setattr(stopwatch, "read_waited", lambda: seen.append(seen[-1] + 1.0) or seen[-1])
    run = report_runs(lambda: plan._run([X]), [X], observer)
    run()
    run()
    assert [seconds for *_, seconds in observer.noted] == [3.0, waited]
