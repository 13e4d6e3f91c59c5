"""Challengers that are dropped when they are prepared, and challengers that are not."""

import math

import numpy as np
import pytest

import nnapi
from nnapi.contract.driver import PrepareOptions
from nnapi.runtime.choice import tuner
from nnapi.runtime.choice.question import Question
from nnapi.runtime.choice.record import Record, parse
from nnapi.runtime.choice.trial import Trial
from nnapi.store.directories import RecordKind
from nnapi.store.records import recall_record
from tests.runtime.choice.trial_cases import EXPECTED, Fake, Machine, X, network, work_of


def test_a_plan_far_behind_the_fastest_challenger_is_not_on_trial(machine: Machine) -> None:
    machine.second.seconds = 0.25e-3
    machine.devices.append(nnapi.Device(Fake(machine.clock, "third", 0.9e-3, 0.05)))
    found = prepare_both(machine)
    assert [each.standing for each in found.challengers] == ["on trial", "slower"]
    machine.second.seconds = 0.5e-3
    found = prepare_both(machine)
    assert [each.standing for each in found.challengers] == ["on trial", "on trial"]


def prepare_both(machine: Machine) -> Trial:
    compilation = machine.compile()
    compilation.run(X)
    found = machine.trial(compilation)
    found.prepare()
    assert [found.prepare_next() for _ in range(3)] == [True, True, False]
    return found


@pytest.mark.parametrize(("seconds", "standing"), [(2e-3, "on trial"), (4e-3, "slower")])
def test_a_machine_that_becomes_slower_does_not_drop_a_plan(seconds: float, standing: str, machine: Machine) -> None:
    """From the active plan's reference to the preparation of the challenger, each run becomes 2.5 times as long."""
    compilation = machine.compile()
    compilation.run(X)
    found = machine.trial(compilation)
    found.prepare()
    machine.first.seconds, machine.second.seconds = 2.5e-3, seconds * 2.5
    found.prepare_next()
    (rival,) = found.challengers
    assert rival.standing == standing
    assert rival.first_gain == pytest.approx(math.log(1e-3 / seconds))


class Warming(Fake):
    """Runs take a fifth less than the one before, at first 200 ms and at last 20 ms."""

    @property
    def seconds(self) -> float:
        return max(0.02, 0.2 * 0.8**self.runs)

    @seconds.setter
    def seconds(self, value: float) -> None: ...


def test_an_engine_that_needs_some_runs_to_be_fast_is_not_hopeless(machine: Machine) -> None:
    machine.first.seconds, machine.second.seconds = 40e-3, 300e-3
    machine.devices.append(nnapi.Device(Warming(machine.clock, "third", 1.0, 0.05)))
    found = machine.begin(machine.compile())
    assert [(each.name, each.standing) for each in found.challengers] == [
        ("everything on second", "slower"),
        ("everything on third", "on trial"),
    ]
    assert machine.second.runs == 3  # to warm up, and twice timed


def test_a_long_run_is_not_repeated_for_its_results(machine: Machine) -> None:
    """The outputs are copied, as they belong to the caller."""
    machine.first.seconds = 30e-3
    compilation = machine.compile()
    compilation.run(X)[0][...] = 9.0
    found = machine.trial(compilation)
    found.prepare()
    assert machine.first.runs == 1
    work = work_of(found)
    assert work.seconds == pytest.approx(30e-3)
    np.testing.assert_array_equal(work.expected[0], EXPECTED)


def test_a_plan_whose_first_run_takes_a_second_runs_once(machine: Machine) -> None:
    machine.first.seconds, machine.second.seconds = 0.1, 1.1
    compilation = machine.compile()
    compilation.run(X)
    found = machine.trial(compilation)
    found.prepare()
    found.prepare_next()
    (rival,) = found.challengers
    assert (machine.first.runs, machine.second.runs) == (1, 1)
    assert (rival.standing, rival.first_gain) == ("slower", pytest.approx(math.log(0.1 / 1.1)))


def test_a_challenger_that_is_far_ahead_takes_over_before_another_is_prepared(machine: Machine) -> None:
    machine.first.seconds, machine.second.seconds = 400e-3, 30e-3
    machine.devices.append(nnapi.Device(Fake(machine.clock, "third", 25e-3, 0.05)))
    third = machine.devices[-1].driver
    compilation = machine.compile()
    compilation.run(X)
    machine.clock.now += 1
    changed: list[tuple[str, int]] = []
    for _ in range(12):
        tuner.TUNER.step()
        changed.append((compilation.plan.devices[0], third.prepared))  # type: ignore[attr-defined]
        compilation.run(X)
    assert ("second", 0) in changed
    assert ("second", 1) in changed
    runs = machine.first.runs
    assert runs <= 5
    for _ in range(100):
        tuner.TUNER.step()
        compilation.run(X)
    assert machine.first.runs == runs
    assert compilation.plan.devices == ("third",)
    assert recall(machine).device == "third"


def test_a_process_that_ends_after_a_change_over_leaves_the_new_plan(machine: Machine) -> None:
    machine.first.seconds, machine.second.seconds = 400e-3, 30e-3
    machine.devices.append(nnapi.Device(Fake(machine.clock, "third", 25e-3, 0.05)))
    compilation = machine.compile()
    compilation.run(X)
    machine.clock.now += 1
    while compilation.plan.devices == ("first",):
        tuner.TUNER.step()
        compilation.run(X)
    record = recall(machine)
    assert (record.state, record.device) == ("predicted", "second")
    (before,) = record.comparisons
    assert (before.description, before.standing) == ("everything on first", "slower")
    assert max(before.logs) < -2


def recall(machine: Machine) -> Record:
    question = Question(network(), machine.devices, PrepareOptions())
    found = recall_record(RecordKind.PLANS, question.key, parse)
    assert found is not None
    return found
