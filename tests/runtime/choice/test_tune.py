"""Decisions at once: ``nnapi.tune``, and compilations that wait."""

import math

import numpy as np
import pytest

import nnapi
from nnapi import settings
from nnapi.errors import BadDataError
from nnapi.runtime.choice import paired_times, trial
from nnapi.runtime.choice.paired_times import LEAST, MOST
from tests.runtime.choice.trial_cases import EXPECTED, Machine, X, has_trial, network


def test_it_compares_on_the_given_inputs_and_later_compilations_take_the_winner(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[object] = []
    begin_on = trial.Trial.begin_on
    monkeypatch.setattr(trial.Trial, "begin_on", lambda self, inputs: (seen.append(inputs), begin_on(self, inputs)))
    said: list[str] = []
    plan = nnapi.tune(network(), machine.devices, inputs=[X], progress=said.append)
    assert plan.devices == ("second",)
    assert np.array_equal(seen[0][0], X)  # type: ignore[index]
    assert said[-1] == "4 pairs"
    compilation = machine.compile()
    assert compilation.plan.devices == ("second",)
    assert not has_trial(compilation)


def test_what_was_found_before_is_forgotten(machine: Machine) -> None:
    nnapi.tune(network(), machine.devices)
    machine.first.seconds, machine.second.seconds = 1e-3, 2e-3
    assert nnapi.tune(network(), machine.devices).devices == ("first",)
    assert machine.compile().plan.devices == ("first",)


def test_a_plan_that_nothing_was_paired_with_has_its_own_time(machine: Machine) -> None:
    machine.first.seconds, machine.second.seconds = 1e-3, 1.0  # too slow for a pair
    plan = nnapi.tune(network(), machine.devices)
    assert plan.devices == ("first",)
    assert plan.measured == pytest.approx(1e-3)  # of a simulated clock
    assert machine.compile().plan.measured == pytest.approx(1e-3)


def test_one_device_is_not_compared(machine: Machine) -> None:
    assert nnapi.tune(network(), machine.devices[1]).devices == ("second",)
    assert machine.first.prepared == 0


def test_a_compilation_that_waits_decides_before_it_is_finished(machine: Machine) -> None:
    with settings(tuning=True):
        compilation = machine.compile()
    assert compilation.plan.devices == ("second",)
    assert not has_trial(compilation)
    np.testing.assert_array_equal(compilation.run(X)[0], EXPECTED)


def test_it_ends_where_plans_take_too_long(machine: Machine) -> None:
    machine.first.seconds, machine.second.seconds = 6.0, 6.0
    with settings(tuning=True):
        assert machine.compile().plan.devices == ("first",)
    assert machine.second.runs <= 4


@pytest.mark.parametrize(("seconds", "chosen"), [(0.9, "second"), (1.1, "first")])
def test_the_plan_that_is_likely_faster_is_chosen_when_time_runs_out(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, seconds: float, chosen: str
) -> None:
    monkeypatch.setattr(paired_times, "SURE", math.inf)  # no number of pairs is enough
    machine.first.seconds, machine.second.seconds = 1.0, seconds
    with settings(tuning=True):
        assert machine.compile().plan.devices == (chosen,)
    assert LEAST <= machine.second.runs < MOST


def test_inputs_of_unknown_rank_cannot_be_made_up(machine: Machine) -> None:
    b = nnapi.Builder()
    b.output(b.abs(b.input(nnapi.tensor("float32", ()))))
    with settings(tuning=True):
        assert machine.compile(b.finish()).plan.devices == ("first",)


def test_threads_have_limits(machine: Machine) -> None:
    with pytest.raises(BadDataError, match="threads is 50000, must be from 1 to 1024"):
        nnapi.tune(network(), machine.devices, threads=50000)
