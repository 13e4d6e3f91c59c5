"""The steps of a plan: the request of each, limits of time, results that belong to the caller."""

from types import SimpleNamespace

import numpy as np
import pytest

from nnapi import Model, compile
from nnapi.contract.driver import LoopTimeoutError, Outcome, PrepareOptions, Request
from nnapi.errors import MissedDeadlineTransientError, OpFailedError
from nnapi.runtime.executors import steps
from nnapi.runtime.executors.steps import PreparedPlan
from nnapi.runtime.planning.plan import Plan, Run
from tests.runtime.control_cases import branch, counting
from tests.runtime.device_cases import ABS, GIVEN, NEG, REFERENCE, chain, limited

SOON = 1000
"""A deadline, by a clock that begins at 0."""


class Part:
    """A partition that the reference runs, with the requests that it gets."""

    def __init__(self, run: Run) -> None:
        self.device = run.device
        self.requests: list[Request] = []
        self._inner = REFERENCE.driver.prepare(run.model, PrepareOptions())

    def execute(self, request: Request) -> Outcome:
        self.requests.append(request)
        return self._inner.execute(Request(request.inputs))

    def close(self) -> None: ...


def prepare(model: Model) -> tuple[PreparedPlan, list[Part]]:
    """Prepare a model whose ABS and NEG are partitions of different devices."""
    parts: list[Part] = []

    def prepare_part(plan: Plan, run: Run) -> Part:
        parts.append(Part(run))
        return parts[-1]

    return PreparedPlan(
        compile(model, [limited("positive", [ABS]), limited("negative", [NEG]), REFERENCE]).plan, prepare_part
    ), parts


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A clock that moves by ``step`` ns whenever it is read."""
    found = SimpleNamespace(now=0, step=0)

    def read() -> int:
        found.now += found.step
        return found.now

    monkeypatch.setattr(steps, "time", SimpleNamespace(monotonic_ns=read))
    return found


@pytest.mark.parametrize(("flag", "x", "device"), [(1, [0, 3], "positive"), (0, [-3, 0], "negative")])
def test_a_branch_gets_the_inputs_after_the_condition(
    flag: int, x: list[float], device: str, clock: SimpleNamespace
) -> None:
    ready, parts = prepare(branch())
    given = np.array(x, np.float32)
    (found,) = ready.execute(Request([np.array([flag], np.uint8), given], SOON, 7)).outputs
    assert sorted(found.tolist()) == [0, 3]
    (part,) = [part for part in parts if part.requests]
    assert part.device == device
    assert part.requests == [Request([given], SOON, 7)]


def test_each_step_has_the_limits_of_the_run(clock: SimpleNamespace) -> None:
    ready, parts = prepare(chain(3))
    (found,) = ready.execute(Request([GIVEN], SOON, 7)).outputs
    assert found.tolist() == np.abs(GIVEN).tolist()
    assert [part.device for part in parts] == ["positive", "negative", "positive"]
    assert [(request.deadline, request.loop_timeout) for part in parts for request in part.requests] == [(SOON, 7)] * 3


def test_no_step_begins_after_the_deadline(clock: SimpleNamespace) -> None:
    ready, parts = prepare(chain(3))
    clock.now = SOON
    assert ready.execute(Request([GIVEN], SOON)).outputs
    clock.now = SOON + 1
    with pytest.raises(MissedDeadlineTransientError, match="the time limit passed between two steps"):
        ready.execute(Request([GIVEN], SOON))
    assert [len(part.requests) for part in parts] == [1, 1, 1]
    assert ready.execute(Request([GIVEN], None)).outputs


def test_a_loop_ends_once_its_time_is_over(clock: SimpleNamespace) -> None:
    """The clock is read before the loop and after each condition."""
    ready, _ = prepare(counting(3.0, states=1))
    x = np.array([1, 0], np.float32)
    clock.step = 10
    (found,) = ready.execute(Request([x, x], None, 30)).outputs
    assert found.tolist() == [3, 2]
    with pytest.raises(LoopTimeoutError, match="the loop ran longer than 29 ns, its limit by set_loop_timeout"):
        ready.execute(Request([x, x], None, 29))


def test_a_branch_reads_a_constant(clock: SimpleNamespace) -> None:
    ready, _ = prepare(branch(constant=np.array([-1, 2], np.float32)))
    for flag, wanted in ((1, [1, 2]), (0, [1, -2])):
        assert ready.execute(Request([np.array([flag], np.uint8)])).outputs[0].tolist() == wanted


def read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("array", "is_copied"),
    [
        (np.array([1, 2]), False),
        (read_only(np.array([1, 2])), True),  # a constant
        (np.array([0, 1, 2])[1:], True),  # a view of memory that is used again
        (read_only(np.array([0, 1, 2])[1:]), True),
    ],
)
def test_a_result_of_a_loop_is_an_array_of_its_own(array: np.ndarray, is_copied: bool) -> None:
    result = steps._need_own(array)
    assert result.tolist() == [1, 2]
    assert result.flags.owndata
    assert result.flags.writeable
    assert (result is not array) == is_copied


def test_an_omitted_operand_cannot_be_a_result() -> None:
    with pytest.raises(OpFailedError, match="an omitted operand became an output"):
        steps._need_own(None)
