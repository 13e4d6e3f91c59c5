"""The pairs of a trial: in gaps between runs or beside them, with caches alike on both sides."""

import math
from typing import Any
from unittest.mock import Mock

import pytest

from nnapi.runtime.choice import trial as module
from nnapi.runtime.choice.schedule import Stage
from nnapi.runtime.choice.trial import EndedError
from tests.runtime.choice.trial_cases import Machine, X, among, make, work_of


def test_a_gap_is_used_while_plans_are_compared(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    found, measured = among(make(machine)), []
    monkeypatch.setattr(found, "measure_pair", lambda: measured.append(1))
    found.schedule.runs.end = machine.clock.now
    found.use_gap()
    assert not measured, "a run has just ended"
    machine.clock.now += 1
    found.use_gap()
    assert len(measured) == 1
    found.schedule.stage = Stage.OVER
    found.use_gap()
    assert len(measured) == 1


def test_a_pair_in_a_gap_counts_if_no_run_comes(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    found = machine.begin(machine.compile())
    (rival,) = found.challengers
    found.judge()
    found.schedule.runs.spent = 10.0
    count = len(rival.evidence.logs)
    assert found.measure_pair()
    assert len(rival.evidence.logs) == count + 1
    time_active = found._time_active

    def time_beside_a_run(sample: Any) -> Any:
        found.schedule.runs.end += 1e-3
        return time_active(sample)

    monkeypatch.setattr(found, "_time_active", time_beside_a_run)
    assert found.measure_pair()
    assert len(rival.evidence.logs) == count + 1


def test_the_runs_before_and_after_are_the_counterpart_of_a_long_one(machine: Machine) -> None:
    """The run after it finds cold caches, too. While results are compared nothing is measured."""
    machine.first.seconds, machine.second.seconds = 19e-3, 21e-3
    compilation = machine.compile()
    found = machine.begin(compilation)
    (rival,) = found.challengers
    found.judge()
    rival.evidence.logs.clear()
    found.schedule.runs.spent = 10.0
    machine.first.seconds = 18e-3
    compilation.run(X)
    assert (rival.seconds, rival.evidence.logs) == (pytest.approx(21e-3), [])
    found.judge()
    assert len(work_of(found).results) == 1, "the comparison would disturb the next run"
    machine.first.seconds = 19.5e-3
    compilation.run(X)
    assert rival.evidence.logs == [pytest.approx(math.log(math.sqrt(18 * 19.5) / 21))]
    runs = machine.second.runs
    compilation.run(X)
    assert machine.second.runs == runs
    found.judge()
    compilation.run(X)
    assert (machine.second.runs, len(work_of(found).results)) == (runs + 1, 1)
    rival.drop()
    compilation.run(X)
    assert len(rival.evidence.logs) == 1


def test_the_active_plan_is_warm_when_challengers_are_compared_with_it(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    lengths = iter([90e-3, 31e-3, 32e-3])

    def infer(inputs: Any) -> Any:
        machine.clock.now += next(lengths)
        return [X]

    monkeypatch.setattr(module, "open_inference", lambda ready, inputs: infer)
    found = make(machine)
    found.begin_on([X])
    found.prepare()
    assert work_of(found).seconds == pytest.approx(31e-3)


def test_a_trial_may_end_while_results_are_compared(machine: Machine) -> None:
    found = among(make(machine))
    work = work_of(found)
    rival = Mock(reason="", is_on_trial=False, is_faster=False)
    rival.judge.side_effect = lambda *arguments: found.stop()
    work.results.extend([(rival, [X], [X], [X])] * 2)
    with pytest.raises(EndedError):
        found.judge()
    assert rival.judge.call_count == 1


def test_a_gap_drops_the_challenger_that_waits_for_a_run(machine: Machine) -> None:
    """The next run comes after a pause, so its caches are colder."""
    found = machine.begin(machine.compile())
    found.schedule.runs.spent, found.schedule.opponent = 10.0, found.challengers[0]
    assert found.measure_pair()
    assert found.schedule.opponent is None


def test_a_run_beside_a_comparison_is_not_the_counterpart_of_a_challenger(machine: Machine) -> None:
    rival = Mock(is_on_trial=True)
    found = among(make(machine))
    found.schedule.opponent = rival
    found.schedule.runs.begin_work(49.5)
    found.schedule.runs.end_work(50.0)
    found.observe([X], [X], 49.99, 9e-3)
    assert not rival.add_pair.called
    assert found.schedule.opponent is None


def test_the_tuner_works_while_it_prepares_and_compares(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    found, marks = make(machine), list[float]()
    rival = Mock(reason="", is_faster=False, is_on_trial=False, evidence=Mock(logs=[]))
    rival.judge.side_effect = lambda *arguments: marks.append(found.schedule.runs._worked)
    monkeypatch.setattr(
        found, "_make_challenger", lambda *arguments: marks.append(found.schedule.runs._worked) or rival
    )
    found.begin_on([X])
    found.prepare()
    assert found.schedule.runs._worked == machine.clock.now
    while found.prepare_next():
        pass
    work_of(found).results.append((rival, [X], [X], [X]))
    found.judge()
    assert marks
    assert set(marks) == {math.inf}
    assert found.schedule.runs._worked == machine.clock.now
