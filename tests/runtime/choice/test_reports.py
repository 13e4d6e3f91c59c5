"""Reports of runs: they take little time, from the first run on."""

from nnapi.runtime.choice import tuner
from nnapi.runtime.choice.reports import EARLY, LONGEST, SHARE, SHORT, find_next_report
from nnapi.runtime.choice.schedule import Stage
from tests.runtime.choice.trial_cases import Machine, X


def test_reports_take_a_small_share_of_the_time() -> None:
    assert find_next_report(0.0, 1e-5) == 1e-5 + 1e-5 / SHARE
    assert find_next_report(5.0, 6.0) == 6.0 + LONGEST


def test_the_first_runs_of_a_tiny_model_begin_no_trial(machine: Machine) -> None:
    machine.first.seconds = SHORT / 10
    compilation = machine.compile()
    found = machine.trial(compilation)
    start = machine.clock.now
    while machine.clock.now < start + EARLY - SHORT:
        compilation.run(X)
        assert found.schedule.runs.spent == 0.0
        assert not tuner.TUNER._trials
    machine.use(compilation, 20)
    assert found.schedule.first_run > start + EARLY
    machine.clock.now += 1
    tuner.TUNER.step()
    assert found.stage is Stage.COMPARING


def test_runs_without_a_report_count_as_time_spent(machine: Machine) -> None:
    compilation = machine.compile()
    found = machine.trial(compilation)
    found.observe([X], [X], 100.0, 2e-3)
    found.observe([X], [X], 101.0, 2e-3, 4)
    assert found.schedule.runs.spent == 6 * 2e-3


def test_the_tuner_watches_a_known_plan_of_a_tiny_model_later(machine: Machine) -> None:
    machine.second.seconds = SHORT / 10
    first = machine.compile()
    machine.begin(first)
    machine.use(first)
    known = machine.compile()
    assert known.plan.devices == ("second",)
    machine.use(known, 20)
    assert not known._trial
    machine.use(known, int(10 * EARLY / SHORT))
    assert machine.trial(known).stage is Stage.OVER
