"""Bursts whose plan changes between two runs, or within one: which plan runs, by which path, and when it is closed."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nnapi import Builder, Model, tensor
from nnapi.contract.driver import Handle, OpenOptions, Outcome, Request
from nnapi.errors import BadStateError, OpFailedError
from nnapi.model.operand import Array
from nnapi.runtime.burst import Burst
from nnapi.runtime.executors.active_plan import ActivePlan
from nnapi.runtime.executors.observed import Observer
from tests.runtime.device_cases import GIVEN, chain


class Numbered:
    """A prepared plan whose result is its number, and its sessions."""

    def __init__(self, number: int, *, binds: bool = False) -> None:
        self.number, self.binds = number, binds
        self.paths: list[str] = []
        self.asked: list[OpenOptions] = []
        self.requests: list[Request] = []
        self.closed = 0
        self.error: Exception | None = None
        self.meanwhile: Callable[[], None] = lambda: None
        self.opening: Callable[[], None] = lambda: None

    @property
    def sessions(self) -> int:
        return sum(options.exclusive for options in self.asked)

    def open_handle(self, options: OpenOptions) -> Handle:
        if options.exclusive:
            self.opening()
        self.asked.append(options)

        def execute(request: Request) -> Outcome:
            self.requests.append(request)
            self.paths.append("borrowing" if options.borrow or options.bind else "general")
            self.meanwhile()
            return Outcome([np.full(1, self.number)])

        call = None if options.shapes is None else self._call
        inputs = [np.zeros((2, 2), np.float32)] if self.binds and options.bind else None
        return Handle(execute, self.open_handle, call, inputs, self.close if options.exclusive else lambda: None)

    def _call(self, inputs: Sequence[Array]) -> list[Array]:
        self.paths.append("fast")
        self.meanwhile()
        if self.error is not None:
            raise self.error
        return [np.full(1, self.number)]

    def close(self) -> None:
        self.closed += 1


class Owner:
    """A compilation whose active plan tests change."""

    def __init__(self, plan: Numbered, model: Model | None = None) -> None:
        self.model = model or chain()
        self.use(plan)

    def use(self, plan: Numbered, observer: Observer | None = None) -> None:
        ready: Any = SimpleNamespace(prepared=plan)
        self.active = ActivePlan(self.model, ready, observer)
        plan.asked.pop()  # the handle of the compilation

    def need_active(self) -> ActivePlan:
        return self.active


class Noting:
    """Notes the runs that it is told of."""

    threads = 1

    def __init__(self) -> None:
        self.noted: list[float] = []

    def observe(self, inputs: object, outputs: Sequence[Array], begin: float, seconds: float, skips: int) -> float:
        self.noted += [float(outputs[0][0])]
        return 0.0


def dynamic() -> Model:
    b = Builder("dynamic")
    b.output(b.abs(b.input(tensor("float32", (0, 2)))))
    return b.finish()


def open_burst(plan: Numbered, model: Model | None = None, **options: bool) -> tuple[Owner, Burst]:
    owner = Owner(plan, model)
    return owner, Burst(owner, **options)


def number(result: Sequence[Array]) -> int:
    return int(result[0][0])


def test_the_next_run_changes_over_and_the_session_before_is_closed() -> None:
    one, two = Numbered(1), Numbered(2)
    owner, burst = open_burst(one)
    assert number(burst.run(GIVEN)) == 1
    owner.use(two)
    assert (one.closed, two.sessions) == (0, 0), "the thread that runs changes over"
    assert number(burst.run(GIVEN)) == 2
    assert (one.closed, two.sessions) == (1, 1)
    assert (one.paths, two.paths) == (["fast"], ["fast"])
    burst.close()
    assert (one.closed, two.closed) == (1, 1)


@pytest.mark.parametrize("binds", [False, True])
def test_a_session_with_bound_memory_is_closed_with_the_burst(binds: bool) -> None:
    one, two = Numbered(1, binds=binds), Numbered(2, binds=binds)
    owner, burst = open_burst(one)
    _, run = burst.bind(GIVEN.shape)
    assert number(run()) == 1
    owner.use(two)
    assert number(run()) == 2
    assert two.paths == ["fast"]
    assert two.asked[-1] == OpenOptions((GIVEN.shape,), borrow=True), "its inputs lie in the memory of the first"
    assert (one.closed, two.closed) == (0, 0)
    burst.close()
    assert (one.closed, two.closed) == (1, 1)


def test_a_burst_that_is_closed_changes_no_more() -> None:
    one, two = Numbered(1), Numbered(2)
    owner, burst = open_burst(one)
    burst.close()
    owner.use(two)
    assert number(burst.run(GIVEN)) == 1
    assert two.sessions == 0


def test_a_burst_goes_on_after_its_compilation_is_closed() -> None:
    one = Numbered(1)
    owner, burst = open_burst(one)
    _, run = burst.bind(GIVEN.shape)
    owner.active = None
    assert [number(burst.run(GIVEN)), number(run())] == [1, 1]
    assert (one.sessions, one.closed, one.paths) == (1, 0, ["fast", "fast"])


def test_a_change_during_a_fast_path_that_fails_is_for_its_repetition() -> None:
    one, two = Numbered(1), Numbered(2)
    owner, burst = open_burst(one)
    one.error, one.meanwhile = OpFailedError("no"), lambda: owner.use(two)
    assert number(burst.run(GIVEN)) == 2
    assert number(burst.run(GIVEN)) == 2
    assert (one.paths, two.paths) == (["fast"], ["general", "fast"])


def test_a_change_during_a_general_run_is_for_the_next_one() -> None:
    """The fast path for the shapes of a run is not that of a plan which has been replaced meanwhile."""
    one, two = Numbered(1), Numbered(2)
    owner, burst = open_burst(one, dynamic())
    one.meanwhile = lambda: owner.use(two)
    assert [number(burst.run(GIVEN)) for _ in range(3)] == [1, 2, 2]
    assert (one.paths, two.paths) == (["general"], ["general", "fast"])
    assert two.asked[-1] == OpenOptions([(2, 2)])


@pytest.mark.parametrize("is_bound", [False, True])
def test_a_change_while_another_is_made_is_for_the_next_run(is_bound: bool) -> None:
    """Each run works, and the last change is never lost."""
    one, two, three = Numbered(1), Numbered(2), Numbered(3)
    owner, burst = open_burst(one)
    run = burst.bind(GIVEN.shape).run if is_bound else lambda: burst.run(GIVEN)
    owner.use(two)
    two.opening = lambda: owner.use(three)
    assert [number(run()) for _ in range(4)] == [2, 3, 3, 3]
    assert (two.sessions, three.sessions) == (1, 1)
    assert [two.paths, three.paths] == [["fast"], ["fast"] * 3]


def test_a_burst_stays_on_the_plan_before_if_it_cannot_open_the_next(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise OpFailedError("no interpreter")

    one, two = Numbered(1), Numbered(2)
    owner, burst = open_burst(one)
    two.opening = fail
    owner.use(two)
    assert [number(burst.run(GIVEN)) for _ in range(3)] == [1, 1, 1]
    assert (one.closed, caplog.text.count("stays on the plan before: no interpreter")) == (0, 1)


@pytest.mark.parametrize("is_bound", [False, True])
def test_a_burst_that_is_closed_during_a_run_closes_its_session_later(is_bound: bool) -> None:
    one = Numbered(1)
    _, burst = open_burst(one)
    run = burst.bind(GIVEN.shape).run if is_bound else lambda: burst.run(GIVEN)
    closed: list[int] = []

    def close() -> None:
        burst.close()
        closed.append(one.closed)

    one.meanwhile = close
    assert number(run()) == 1
    assert closed == [0], "the run still used it"
    one.meanwhile = lambda: None
    assert number(run()) == 1
    assert (one.closed, one.paths) == (1, ["fast", "general"])


@pytest.mark.parametrize("borrow", [False, True])
def test_a_burst_borrows_the_device_s_memory_if_asked_to(borrow: bool) -> None:
    plan = Numbered(1)
    _, burst = open_burst(plan, dynamic(), borrow=borrow)
    burst.run(GIVEN)
    burst.run(GIVEN)
    assert plan.paths == ["borrowing" if borrow else "general", "fast"]
    assert plan.asked == [OpenOptions(None, True, borrow), OpenOptions([(2, 2)], borrow=borrow)]


def test_bound_runs_always_borrow_and_take_the_fast_path_until_the_burst_is_closed() -> None:
    plan = Numbered(1)
    _, burst = open_burst(plan)
    (array,), run = burst.bind(GIVEN.shape)
    run()
    plan.error = OpFailedError("no")
    run()
    plan.error = None
    burst.close()
    run()
    assert plan.paths == ["fast", "fast", "borrowing", "general"]
    assert plan.asked == [OpenOptions([(2, 2)], exclusive=True), OpenOptions(((2, 2),), bind=True), OpenOptions()]
    assert [request.inputs[0] is array for request in plan.requests] == [True, True]


def test_runs_are_reported_to_the_observer_of_the_plan_only() -> None:
    one, two, first, second = Numbered(1), Numbered(2), Noting(), Noting()
    owner, burst = open_burst(one)
    for plan, observer in ((one, first), (one, None), (two, second), (one, None)):
        owner.use(plan, observer)
        burst.run(GIVEN)
    assert (first.noted, second.noted) == ([1], [2])
    assert (one.sessions, two.sessions) == (2, 1), "the session of the plan that runs is kept"


def test_a_burst_that_is_taken_refuses_every_use() -> None:
    _, burst = open_burst(Numbered(1))
    run = burst.bind(GIVEN.shape).run
    burst.take()
    for use in (lambda: burst.run(GIVEN), burst.take, lambda: burst.bind(GIVEN.shape), run):
        with pytest.raises(BadStateError, match="the burst is in use by another thread"):
            use()
    burst.release()
    assert number(burst.run(GIVEN)) == 1
