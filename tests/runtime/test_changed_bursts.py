"""Bursts whose plan changes between two runs, or within one: which plan runs, by which path, and when it is closed."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nnapi import Builder, Model, tensor
from nnapi.contract.driver import Inference, Outcome, Request
from nnapi.errors import BadStateError, OpFailedError
from nnapi.model.operand import Array, Shape
from nnapi.runtime.burst import Burst
from tests.runtime.device_cases import GIVEN, chain


class Numbered:
    """A prepared plan, and its session, whose result is its number."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.paths: list[str] = []
        self.asked: list[tuple[list[Shape], bool]] = []
        self.requests: list[Request] = []
        self.sessions = self.closed = 0
        self.error: Exception | None = None
        self.meanwhile: Callable[[], None] = lambda: None

    def session(self) -> "Numbered":
        self.sessions += 1
        return self

    def execute(self, request: Request) -> Outcome:
        self.requests.append(request)
        self.paths.append("general")
        self.meanwhile()
        return Outcome([np.full(1, self.number)])

    def direct(self, shapes: Sequence[Shape], borrow: bool) -> Inference:
        self.asked.append((list(shapes), borrow))
        return self._run

    def _run(self, inputs: Sequence[Array]) -> list[Array]:
        self.paths.append("fast")
        self.meanwhile()
        if self.error is not None:
            raise self.error
        return [np.full(1, self.number)]

    def close(self) -> None:
        self.closed += 1


class Noting:
    """Notes the runs that it is told of."""

    threads = 1

    def __init__(self) -> None:
        self.noted: list[float] = []

    def observe(self, inputs: object, outputs: Sequence[Array], begin: float, seconds: float) -> None:
        self.noted += [float(outputs[0][0])]


def dynamic() -> Model:
    b = Builder("dynamic")
    b.output(b.abs(b.input(tensor("float32", (0, 2)))))
    return b.finish()


def open_burst(plan: Numbered, model: Model | None = None, **options: bool) -> Burst:
    runnable: Any = SimpleNamespace(prepared=plan, model=model or chain(), bursts=set())
    return Burst(runnable, **options)


def number(result: Sequence[Array]) -> int:
    return int(result[0][0])


def test_the_next_run_changes_over_and_the_session_before_is_closed() -> None:
    one, two = Numbered(1), Numbered(2)
    burst = open_burst(one)
    assert number(burst.run(GIVEN)) == 1
    burst.use(two, None)
    assert (one.closed, two.sessions) == (0, 0), "the thread that runs changes over"
    assert number(burst.run(GIVEN)) == 2
    assert (one.closed, two.sessions) == (1, 1)
    assert (one.paths, two.paths) == (["fast"], ["fast"])
    burst.close()
    assert (one.closed, two.closed) == (1, 1)


def test_a_session_with_bound_memory_is_closed_with_the_burst() -> None:
    one, two = Numbered(1), Numbered(2)
    burst = open_burst(one)
    _, run = burst.bind(GIVEN.shape)
    assert number(run()) == 1
    burst.use(two, None)
    assert number(run()) == 2
    assert two.paths == ["fast"]
    assert (one.closed, two.closed) == (0, 0)
    burst.close()
    assert (one.closed, two.closed) == (1, 1)


def test_a_burst_that_is_closed_changes_no_more() -> None:
    one, two = Numbered(1), Numbered(2)
    burst = open_burst(one)
    burst.close()
    burst.use(two, None)
    assert number(burst.run(GIVEN)) == 1
    assert two.sessions == 0


def test_a_change_during_a_fast_path_that_fails_is_for_its_repetition() -> None:
    one, two = Numbered(1), Numbered(2)
    burst = open_burst(one)
    one.error, one.meanwhile = OpFailedError("no"), lambda: burst.use(two, None)
    assert number(burst.run(GIVEN)) == 2
    assert number(burst.run(GIVEN)) == 2
    assert (one.paths, two.paths) == (["fast"], ["general", "fast"])


def test_a_change_during_a_general_run_is_for_the_next_one() -> None:
    """The fast path for the shapes of a run is not that of a plan which has been replaced meanwhile."""
    one, two = Numbered(1), Numbered(2)
    burst = open_burst(one, dynamic())
    one.meanwhile = lambda: burst.use(two, None)
    assert [number(burst.run(GIVEN)) for _ in range(3)] == [1, 2, 2]
    assert (one.paths, two.paths) == (["general"], ["general", "fast"])
    assert (one.asked, two.asked) == ([], [([(2, 2)], False)])


@pytest.mark.parametrize("borrow", [False, True])
def test_a_burst_borrows_the_device_s_memory_if_asked_to(borrow: bool) -> None:
    plan = Numbered(1)
    burst = open_burst(plan, dynamic(), borrow=borrow)
    burst.run(GIVEN)
    burst.run(GIVEN)
    assert [request.borrow for request in plan.requests] == [borrow]
    assert plan.asked == [([(2, 2)], borrow)]


def test_bound_runs_always_borrow_and_take_the_fast_path_until_the_burst_is_closed() -> None:
    plan = Numbered(1)
    burst = open_burst(plan)
    (array,), run = burst.bind(GIVEN.shape)
    run()
    plan.error = OpFailedError("no")
    run()
    plan.error = None
    burst.close()
    run()
    assert plan.paths == ["fast", "fast", "general", "general"]
    assert plan.asked == [([(2, 2)], False), ([(2, 2)], True)]
    assert [request.borrow for request in plan.requests] == [True, True]
    assert [request.inputs[0] is array for request in plan.requests] == [True, True]


def test_runs_are_reported_to_the_observer_of_the_plan_only() -> None:
    one, two, first, second = Numbered(1), Numbered(2), Noting(), Noting()
    burst = open_burst(one)
    for plan, observer in ((one, first), (one, None), (two, second), (one, None)):
        burst.use(plan, observer)
        burst.run(GIVEN)
    assert (first.noted, second.noted) == ([1], [2])
    assert (one.sessions, two.sessions) == (2, 1), "the session of the plan that runs is kept"


def test_a_burst_that_is_taken_refuses_every_run() -> None:
    burst = open_burst(Numbered(1))
    burst.take()
    for use in (lambda: burst.run(GIVEN), burst.take):
        with pytest.raises(BadStateError, match="the burst is in use by another thread"):
            use()
    burst.release()
    assert number(burst.run(GIVEN)) == 1
