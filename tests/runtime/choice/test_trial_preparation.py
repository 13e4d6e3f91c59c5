"""Challengers that are dropped when they are prepared, and challengers that are not."""

import math

import pytest

import nnapi
from tests.runtime.choice.trial_cases import Fake, Machine, X


def test_a_plan_far_behind_the_fastest_challenger_is_not_on_trial(machine: Machine) -> None:
    machine.second.seconds = 0.25e-3
    machine.devices.append(nnapi.Device(Fake(machine.clock, "third", 0.9e-3, 0.05)))
    found = machine.begin(machine.compile())
    assert [each.standing for each in found.challengers] == ["on trial", "slower"]
    machine.second.seconds = 0.5e-3
    found = machine.begin(machine.compile())
    assert [each.standing for each in found.challengers] == ["on trial", "on trial"]


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
