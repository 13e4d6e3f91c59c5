"""Bursts, executions and many runs change over to the winner of a trial."""

import numpy as np
import pytest

from nnapi import Execution
from nnapi.contract.driver import Handle, OpenOptions, Opens
from nnapi.contract.handles import open_handle
from nnapi.runtime import burst as burst_module
from nnapi.runtime.burst import Burst
from nnapi.runtime.choice import tuner
from tests.runtime.choice.trial_cases import EXPECTED, Machine, X


def test_a_burst_with_bound_memory_changes_over(machine: Machine) -> None:
    compilation = machine.compile()
    with compilation.burst() as burst:
        bound = burst.bind((2, 2))
        bound.inputs[0][...] = X
        for _ in range(3):
            np.testing.assert_array_equal(bound.run()[0], EXPECTED)
        machine.clock.now += 1
        for number in range(80):
            if number % 4 == 0:
                tuner.TUNER.step()
            (burst.run(X) if number % 2 else bound.run())
        assert compilation.plan.devices == ("second",)
        first, second = machine.first.runs, machine.second.runs
        np.testing.assert_array_equal(bound.run()[0], EXPECTED)
        bound.inputs[0][...] = 2 * X
        np.testing.assert_array_equal(bound.run()[0], 3 * X * X)
        np.testing.assert_array_equal(burst.run(X)[0], EXPECTED)
        assert (machine.first.runs, machine.second.runs) == (first, second + 3)


def test_many_runs_and_executions_change_over(machine: Machine) -> None:
    compilation = machine.compile(threads=1)
    execution = Execution(compilation)
    execution.set_input(0, X)
    output = np.zeros_like(X)
    execution.set_output(0, output)
    execution.set_reusable(True)
    machine.begin(compilation)
    results = compilation.run_many((X for _ in range(200)), requests=1)
    for number, (result,) in enumerate(results):
        np.testing.assert_array_equal(result, EXPECTED)
        if number % 5 == 0:
            tuner.TUNER.step()
    assert compilation.plan.devices == ("second",)
    first = machine.first.runs
    execution.compute()
    np.testing.assert_array_equal(output, EXPECTED)
    assert machine.first.runs == first


def test_many_runs_on_one_thread_each_go_on_with_the_winner(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    compilation = machine.compile()
    machine.begin(compilation)
    results = compilation.run_many((X for _ in range(100)), requests=2)
    next(results)
    machine.use(compilation)
    assert compilation.plan.devices == ("second",)
    first = machine.first.runs
    for (result,) in results:
        np.testing.assert_array_equal(result, EXPECTED)
    assert machine.first.runs <= first + 4  # those that were begun


def test_a_thread_that_starts_after_a_change_runs_the_new_plan(machine: Machine) -> None:
    compilation = machine.compile()
    machine.begin(compilation)
    next(compilation.run_many((X for _ in range(9)), requests=2))
    single = compilation._single
    assert single is not None
    machine.use(compilation)
    first = machine.first.runs
    with Burst(single) as burst:
        np.testing.assert_array_equal(burst.run(X)[0], EXPECTED)
    assert machine.first.runs == first


def test_a_burst_that_is_made_during_a_change_runs_the_new_plan(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    compilation = machine.compile()
    machine.begin(compilation)

    def change(prepared: Opens, options: OpenOptions) -> Handle:
        monkeypatch.setattr(burst_module, "open_handle", open_handle)
        machine.use(compilation)
        return open_handle(prepared, options)

    monkeypatch.setattr(burst_module, "open_handle", change)
    with compilation.burst() as burst:
        assert compilation.plan.devices == ("second",)
        first = machine.first.runs
        np.testing.assert_array_equal(burst.run(X)[0], EXPECTED)
    assert machine.first.runs == first
