"""Trials beside real runs: who takes over, who does not, and what it costs the caller."""

import gc
import logging
import threading
import weakref

import numpy as np
import pytest

import nnapi
from nnapi import device
from nnapi.contract.driver import PrepareOptions
from nnapi.errors import OpFailedError, OutOfMemoryError
from nnapi.runtime import compilation as runtime_compilation
from nnapi.runtime.choice import record, trial, tuner
from nnapi.runtime.choice.knowledge import Cached, Measured, Predicted, Unknown, recall
from nnapi.runtime.choice.question import Question
from nnapi.runtime.choice.schedule import GRACE, SHARE, Stage
from nnapi.runtime.executors.active_plan import ActivePlan
from nnapi.runtime.executors.observed import Observer
from nnapi.runtime.executors.prepared_partitions import ReadyPlan
from tests.runtime.choice.trial_cases import EXPECTED, Fake, Machine, X, has_trial, network

START = threading.Thread.start
"""The fixture has the tuner start none."""


def question(machine: Machine, **more: object) -> Question:
    return Question(network(), machine.devices, PrepareOptions(), **more)  # type: ignore[arg-type]


def test_a_faster_plan_takes_over_between_runs(machine: Machine) -> None:
    compilation = machine.compile()
    assert isinstance(recall(question(machine)), Predicted)
    machine.begin(compilation)
    assert compilation.plan.devices == ("first",)
    assert "on trial: everything on second" in compilation.explain()
    machine.use(compilation)
    assert compilation.plan.devices == ("second",)
    assert "everything on first: slower (0 of 4 pairs faster, 0.50×)" in compilation.explain()
    np.testing.assert_array_equal(compilation.run(X)[0], EXPECTED)
    assert isinstance(recall(question(machine)), Measured)


def test_the_next_process_begins_with_the_winner(machine: Machine) -> None:
    first = machine.compile()
    machine.begin(first)
    machine.use(first)
    runs = machine.first.prepared
    second = machine.compile()
    assert second.plan.devices == ("second",)
    assert not has_trial(second)
    assert machine.first.prepared == runs
    assert second.plan.measured == pytest.approx(0.5e-3)
    assert "everything on first" in second.plan.notes[0]


def test_a_plan_that_is_not_faster_does_not_take_over(machine: Machine) -> None:
    machine.second.seconds = 0.99e-3
    compilation = machine.compile()
    machine.begin(compilation)
    machine.use(compilation, 500)
    assert compilation.plan.devices == ("first",)
    assert machine.trial(compilation).stage is Stage.OVER


def test_runs_after_a_trial_have_nothing_new(machine: Machine) -> None:
    compilation = machine.compile()
    assert compilation.need_active().observer is not None
    machine.begin(compilation)
    machine.use(compilation)
    assert compilation.need_active().observer is None
    runs = machine.first.runs
    machine.use(compilation, 50)
    assert machine.first.runs == runs


def test_the_caller_only_sees_the_active_plan_and_a_wrong_one_is_excluded(
    machine: Machine, caplog: pytest.LogCaptureFixture
) -> None:
    machine.second.factor = 1.01
    compilation = machine.compile()
    with caplog.at_level(logging.WARNING):
        machine.begin(compilation)
        machine.use(compilation)
    assert "everything on second of network is excluded: output 0" in caplog.text
    assert compilation.plan.devices == ("first",)
    np.testing.assert_array_equal(compilation.run(X)[0], EXPECTED)
    prepared = machine.second.prepared
    again = machine.compile()
    assert not has_trial(again)
    assert any("output 0" in note for note in again.plan.notes)
    assert machine.second.prepared == prepared


def test_an_engine_that_is_wrong_on_the_user_s_data_alone_is_found(
    machine: Machine, caplog: pytest.LogCaptureFixture
) -> None:
    compilation = machine.compile()
    machine.begin(compilation)
    machine.second.factor = float("nan")
    with caplog.at_level(logging.WARNING):
        machine.use(compilation)
    assert "infinite or NaN" in caplog.text
    assert compilation.plan.devices == ("first",)


def test_turns_cost_a_share_of_the_time_in_runs(machine: Machine) -> None:
    machine.first.seconds, machine.second.seconds = 40e-3, 39e-3
    compilation = machine.compile()
    found = machine.begin(compilation)
    for _ in range(100):
        machine.use(compilation, 1)
        assert found.schedule.cost <= GRACE + SHARE * found.schedule.runs.spent + 2 * trial.SPIN


def test_runs_beside_preparations_decide_nothing(machine: Machine) -> None:
    """They take longer; the challenger is measured after the last preparation."""
    machine.second.variants = ["slow"]
    machine.second.times = {"slow": 2e-3}
    compilation = machine.compile()
    compilation.run(X)
    machine.clock.now += 1
    tuner.TUNER.step()
    tuner.TUNER.step()
    found = machine.trial(compilation)
    assert len(found.challengers) == 1
    machine.first.seconds = 9e-3
    machine.use(compilation, 4)
    assert not found.challengers[0].evidence.logs
    machine.first.seconds = 1e-3
    machine.begin(compilation)
    machine.use(compilation)
    assert max(max(each.evidence.logs, default=0) for each in found.challengers) < 1


def test_gaps_between_runs_are_used(machine: Machine) -> None:
    compilation = machine.compile()
    machine.begin(compilation)
    runs = machine.second.runs
    while compilation.plan.devices == ("first",):
        compilation.run(X)
        assert machine.second.runs == runs  # the caller waits for nothing
        machine.clock.now += 0.1
        tuner.TUNER.step()
        runs = machine.second.runs
    assert compilation.plan.devices == ("second",)


def test_pairs_go_on_in_the_next_process(machine: Machine) -> None:
    machine.first.seconds, machine.second.seconds = 14e-3, 7e-3
    compilation = machine.compile()
    found = machine.begin(compilation)
    machine.use(compilation, 1)
    pairs = len(found.challengers[0].evidence.logs)
    assert 0 < pairs < 4
    found.keep_progress()
    known = recall(question(machine))
    assert isinstance(known, Predicted)
    assert len(known.record.comparisons[0].logs) == pairs
    again = machine.compile()
    more = machine.begin(again)
    assert len(more.challengers[0].evidence.logs) > pairs
    assert more.challengers[0].evidence.logs[:pairs] == known.record.comparisons[0].logs


def test_a_pinned_plan_stays(machine: Machine) -> None:
    compilation = machine.compile()
    machine.begin(compilation)
    compilation.pin()
    machine.use(compilation)
    assert compilation.plan.devices == ("first",)
    assert compilation.need_active().observer is None


def test_the_plan_that_takes_over_while_another_is_pinned_stays(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    compilation = machine.compile()
    machine.begin(compilation)
    winner = machine.compile().need_active().ready
    opened: list[ReadyPlan] = []

    def open_plan(model: nnapi.Model, ready: ReadyPlan, *observers: Observer) -> ActivePlan:
        opened.append(ready)
        if len(opened) == 1:
            compilation.use(winner, None)
        return ActivePlan(model, ready, *observers)

    monkeypatch.setattr(runtime_compilation, "ActivePlan", open_plan)
    compilation.pin()
    assert compilation.need_active().ready is winner
    assert opened[-1] is winner


def test_a_winner_that_comes_too_late_does_not_replace_a_pinned_plan(machine: Machine) -> None:
    """The tuner may have concluded the trial, but not yet used its result."""
    compilation = machine.compile()
    found = machine.begin(compilation)
    pinned, late = compilation.need_active().ready, machine.compile().need_active().ready
    compilation.pin()
    compilation.use(late, found, found)
    assert compilation.need_active().ready is pinned
    assert compilation.need_active().observer is None
    assert not has_trial(compilation)


def test_a_compilation_that_is_closed_or_gone_is_left_alone(machine: Machine) -> None:
    compilation = machine.compile()
    found = weakref.ref(machine.begin(compilation))
    compilation.close()
    tuner.TUNER.step()
    del compilation
    gc.collect()
    assert found() is None
    other = machine.compile()
    other.run(X)
    del other
    gc.collect()
    assert tuner.TUNER.step() == tuner.WATCH


def test_a_challenger_that_fails_is_excluded(machine: Machine) -> None:
    compilation = machine.compile()
    machine.begin(compilation)
    machine.second.error = OpFailedError("out of order")
    machine.use(compilation)
    assert compilation.plan.devices == ("first",)
    assert "out of order" in machine.compile().plan.notes[0]


@pytest.mark.parametrize("error", [MemoryError("none left"), OutOfMemoryError("none left")])
def test_without_memory_the_active_plan_goes_on(machine: Machine, error: Exception) -> None:
    machine.second.error = error
    compilation = machine.compile()
    machine.begin(compilation)
    machine.use(compilation)
    np.testing.assert_array_equal(compilation.run(X)[0], EXPECTED)
    assert compilation.plan.devices == ("first",)


def test_a_trial_that_fails_in_a_run_is_over(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    compilation = machine.compile()
    machine.begin(compilation)

    def fail(*_: object) -> None:
        raise RuntimeError("unexpected")

    monkeypatch.setattr(trial.Trial, "_challenge", fail)
    machine.use(compilation, 20)
    assert machine.trial(compilation).stage is Stage.OVER
    assert compilation.need_active().observer is None
    np.testing.assert_array_equal(compilation.run(X)[0], EXPECTED)


def test_threads_that_share_a_compilation(machine: Machine) -> None:
    compilation = machine.compile()
    machine.begin(compilation)
    right: list[bool] = []

    def work() -> None:
        right.extend(np.array_equal(compilation.run(X)[0], EXPECTED) for _ in range(100))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for each in threads:
        START(each)
    machine.use(compilation, 50)
    for each in threads:
        each.join()
    assert all(right)


def test_dynamic_shapes_are_compared_run_by_run(machine: Machine) -> None:
    b = nnapi.Builder("dynamic")
    b.output(b.mul(b.input(nnapi.tensor("float32", (0, 2))), X[:1]))
    compilation = machine.compile(b.finish())
    for rows in (1, 2, 3):
        compilation.run(np.ones((rows, 2), np.float32))
    machine.clock.now += 1
    for _ in range(4):
        tuner.TUNER.step()
    for number in range(80):
        rows = number % 3 + 1
        np.testing.assert_array_equal(compilation.run(np.ones((rows, 2), np.float32))[0], np.repeat(X[:1], rows, 0))
        if number % 5 == 0:
            tuner.TUNER.step()
    assert compilation.plan.devices == ("second",)


def test_a_device_that_becomes_slow_is_replaced(machine: Machine) -> None:
    machine.second.seconds = 1.1e-3
    compilation = machine.compile()
    machine.begin(compilation)
    machine.use(compilation, 200)
    assert machine.trial(compilation).stage is Stage.OVER
    assert compilation.plan.devices == ("first",)
    machine.first.seconds = 5e-3
    machine.clock.now += tuner.WATCH + 1
    tuner.TUNER.step()
    machine.use(compilation, 20)
    machine.clock.now += 1
    machine.use(compilation, 100)
    assert compilation.plan.devices == ("second",)


def test_a_plan_that_takes_as_long_as_ever_is_watched_for_a_moment(machine: Machine) -> None:
    compilation = machine.compile()
    machine.begin(compilation)
    machine.use(compilation)
    machine.clock.now += tuner.WATCH + 1
    tuner.TUNER.step()
    assert compilation.need_active().observer is not None
    machine.use(compilation, 20)
    assert compilation.need_active().observer is None
    assert machine.trial(compilation).stage is Stage.OVER


def test_variants_of_one_device_are_challengers(machine: Machine) -> None:
    machine.second.seconds = 9e-3
    machine.first.variants, machine.first.times = ["upside down"], {"upside down": 0.3e-3}
    compilation = machine.compile()
    machine.begin(compilation)
    machine.use(compilation)
    assert (compilation.plan.devices, compilation.plan.variant) == (("first",), "upside down")
    assert machine.compile().plan.variant == "upside down"


def test_the_predicted_variant_answers_first_and_the_usual_one_is_tried(machine: Machine) -> None:
    machine.second.seconds = 9e-3
    machine.first.variants, machine.first.times = ["upside down"], {"upside down": 2e-3}
    machine.first.predicted = "upside down"
    compilation = machine.compile()
    assert compilation.plan.variant == "upside down"
    machine.begin(compilation)
    machine.use(compilation)
    assert compilation.plan.variant == ""
    with nnapi.settings(tuning=False):
        assert machine.compile().plan.variant == ""


def test_a_far_faster_plan_takes_over_before_the_fastest_is_prepared(machine: Machine) -> None:
    machine.devices.append(nnapi.Device(Fake(machine.clock, "third", 0.3e-3, 0.05)))
    compilation = machine.compile()
    machine.begin(compilation)
    seen = []
    for _ in range(100):
        machine.use(compilation, 5)
        seen.append(compilation.plan.devices[0])
    assert list(dict.fromkeys(seen)) in (["first", "second", "third"], ["second", "third"])
    assert machine.trial(compilation).stage is Stage.OVER
    ratios = {alternative.description: alternative.measured for alternative in compilation.plan.alternatives}
    assert ratios == {
        "everything on first": pytest.approx(1e-3, rel=0.01),
        "everything on second": pytest.approx(0.5e-3, rel=0.01),
    }
    assert all(f"everything on {loser}: slower" in compilation.explain() for loser in ("first", "second"))


def test_each_challenger_has_a_pair_and_the_most_promising_has_the_others(machine: Machine) -> None:
    """A second in runs permits 50 ms of measurements beside the grace."""
    machine.first.seconds, machine.second.seconds = 14e-3, 13e-3
    machine.devices.append(nnapi.Device(Fake(machine.clock, "third", 9e-3, 0.05)))
    compilation = machine.compile()
    machine.trial(compilation).schedule.is_crowded = False
    found = machine.begin(compilation)
    machine.use(compilation, 70)
    assert compilation.plan.devices == ("third",)
    assert [len(each.evidence.logs) for each in found.challengers] == [1, 4]


def test_nothing_is_tried_where_there_is_no_choice(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    low = nnapi.PreferenceCode.PREFER_LOW_POWER
    with nnapi.settings(tuning=False):
        assert not has_trial(machine.compile())
    assert not has_trial(machine.compile(preference=low))
    assert not has_trial(nnapi.compile(network(), machine.devices[0]))
    monkeypatch.setattr("nnapi.runtime.choice.predict.is_tiny", lambda model: True)
    assert not has_trial(machine.compile())


def test_a_forked_child_tries_nothing(machine: Machine) -> None:
    compilation = machine.compile()
    found = machine.begin(compilation)
    tuner.TUNER.forget()
    runs = machine.second.runs
    machine.use(compilation)
    assert (found.stage, machine.second.runs) == (Stage.OVER, runs)


def test_without_a_trial_nothing_is_known(machine: Machine) -> None:
    assert isinstance(recall(question(machine)), Unknown)
    assert Cached._fields == ("record", "notes", "times")
    assert record.TINY == "tiny"
    assert device("nnapi-reference").name
