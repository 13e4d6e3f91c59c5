"""The single decisions of a trial: who is compared, who is next, within which budget and gaps, who wins."""

import math
from collections.abc import Sequence
from typing import Any
from unittest.mock import Mock, call

import pytest

from nnapi.codes import PreferenceCode
from nnapi.drivers.base import PrepareOptions
from nnapi.runtime.choice import trial as module
from nnapi.runtime.choice import tune as tuning
from nnapi.runtime.choice.evidence import Evidence, Standing
from nnapi.runtime.choice.question import Question
from nnapi.runtime.choice.record import Comparison, Record
from nnapi.runtime.choice.trial import SPIN, Stage, Trial, _compare_with
from nnapi.runtime.executors.prepared_partitions import ReadyPlan
from nnapi.runtime.planning.plan import Explanation, Plan, run_everything_on
from tests.runtime.choice.trial_cases import Machine, X, network

MODEL = network()


def plan_on(device: str, seconds: float = 1e-3, threads: int | None = 1) -> Plan:
    return Plan(MODEL, (run_everything_on(MODEL, device),), lambda: Explanation((), seconds)).on_threads(threads)


def make(machine: Machine, comparisons: Sequence[Comparison] = (), **more: Any) -> Trial:
    """A trial of a plan on "first", without runs."""
    record = Record("predicted", "first", "", "", 2, 1, 0.0, None, comparisons) if comparisons else None
    question = Question(MODEL, machine.devices, PrepareOptions())
    return Trial(question, ReadyPlan(plan_on("first"), Mock()), record, **more)


class Rival:
    """A challenger with given evidence."""

    def __init__(
        self, name: str, logs: Sequence[float] = (), standing: Standing = Standing.ON_TRIAL, **more: Any
    ) -> None:
        self.name, self.plan, self.standing, self.reason = name, plan_on(name, 2e-3), standing, ""
        self.evidence = Evidence(logs)
        self.promise, self.price, self.seconds = 0.0, 0.0, 1e-3
        self.ready: Any = ReadyPlan(self.plan, Mock())
        self.dropped = False
        vars(self).update(more)

    @property
    def is_on_trial(self) -> bool:
        return self.standing is Standing.ON_TRIAL and not self.dropped

    @property
    def is_faster(self) -> bool:
        return self.standing is Standing.FASTER

    @property
    def log_gain(self) -> float:
        return self.evidence.log_gain

    def drop(self) -> None:
        self.dropped = True

    def close(self) -> None: ...

    def describe(self) -> Comparison:
        return Comparison(self.name, 2e-3, self.evidence.logs, self.standing, self.reason)


def among(trial: Trial, *rivals: Rival) -> Trial:
    trial.challengers = list(rivals)  # type: ignore[arg-type]
    trial.stage = Stage.COMPARING
    return trial


def test_a_new_trial_has_spent_nothing(machine: Machine) -> None:
    found = make(machine)
    assert (found.spent, found.cost, found.last_run, found.first_run, found.active_seconds) == (0, 0, 0, 0, 0)
    assert (found.stage, found.is_reported, found.recorded, found.threads) == (Stage.WAITING, True, None, 1)
    assert found.describe() == "predicted: other plans are tried on real runs from now on"


@pytest.mark.parametrize(
    ("predicted", "names"),
    [
        ([1.0, 2.0, 3.9, 4.0, 4.1], ["b", "c"]),
        ([1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6], ["b", "c", "d", "e", "f"]),
        ([2.0, 1.0], ["b"]),
    ],
)
def test_up_to_five_plans_that_are_predicted_to_be_less_than_four_times_slower_are_tried(
    predicted: list[float], names: list[str], machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans = [plan_on(name, seconds) for name, seconds in zip("abcdefg", predicted, strict=False)]
    monkeypatch.setattr("nnapi.runtime.choice.predict.list_plans", lambda question, threads: plans)
    found = make(machine)
    found.active = ReadyPlan(plans[0], Mock())
    assert [plan.devices[0] for plan in found._list_challengers(found.question)] == names


def test_plans_that_were_excluded_are_not_tried_again(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    plans = [plan_on(name) for name in ("first", "wrong", "slow")]
    monkeypatch.setattr("nnapi.runtime.choice.predict.list_plans", lambda question, threads: plans)
    known = [
        Comparison("everything on wrong", 1e-3, [], Standing.SLOWER, "output 0 differs"),
        Comparison("everything on slow", 1e-3, [-0.1], Standing.ON_TRIAL),
    ]
    found = make(machine, known)
    assert [plan.devices[0] for plan in found._list_challengers(found.question)] == ["slow"]


@pytest.mark.parametrize(
    ("cost", "spent", "twice", "is_limited", "is_found"),
    [
        (0.05, 0.0, False, True, True),
        (0.051, 0.0, False, True, False),
        (0.051, 0.0, False, False, True),
        (0.1, 1.0, False, True, True),
        (0.101, 1.0, False, True, False),
        (0.04, 0.0, True, True, True),  # 6 runs of the active plan beside it
        (0.045, 0.0, True, True, False),
    ],
)
def test_a_pair_fits_the_budget(
    cost: float, spent: float, twice: bool, is_limited: bool, is_found: bool, machine: Machine
) -> None:
    """A grace of 0.1 s and a twentieth of the time in runs; the next pair takes 0.05 s."""
    rival = Rival("second", price=0.05, seconds=2e-3)
    found = among(make(machine), rival)
    found.cost, found.spent, found._seconds = cost, spent, 1e-3
    assert (found._find_next(twice=twice, is_limited=is_limited) is rival) is is_found


def test_the_most_promising_challenger_on_trial_is_next(machine: Machine) -> None:
    rivals = [Rival("a", promise=0.1), Rival("b", promise=0.3), Rival("c", promise=0.9, standing=Standing.SLOWER)]
    assert among(make(machine), *rivals)._find_next() is rivals[1]
    assert among(make(machine), rivals[2])._find_next() is None


@pytest.mark.parametrize(
    ("active", "before", "idle", "is_gap"),
    [
        (1e-3, 6e-3, 4.9e-3, False),
        (1e-3, 6e-3, 5.1e-3, True),
        (4e-3, 9e-3, 7.9e-3, False),
        (4e-3, 9e-3, 8.1e-3, True),
        (4e-3, 7e-3, 0.24, False),
        (4e-3, 7e-3, 0.26, True),
        (0.2, 0.0, 0.39, False),
        (0.2, 0.0, 0.41, True),
    ],
)
def test_a_gap_is_longer_than_two_runs_and_5_milliseconds(
    active: float, before: float, idle: float, is_gap: bool, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And longer than 0.25 seconds where the runs ``before`` had no gap."""
    found, measured = among(make(machine)), []
    monkeypatch.setattr(found, "measure_pair", lambda: measured.append(1))
    found._seconds, found._gap, found.last_run = active, before, machine.clock.now
    machine.clock.now += idle
    found.use_gap()
    assert bool(measured) is is_gap
    found.stage = Stage.OVER
    found.use_gap()
    assert len(measured) == is_gap


@pytest.mark.parametrize(
    ("active", "gap", "has_gaps"),
    [(1e-3, 4.9e-3, False), (1e-3, 5.1e-3, True), (4e-3, 7.9e-3, False), (4e-3, 8.1e-3, True)],
)
def test_runs_have_gaps_of_two_runs_and_5_milliseconds(
    active: float, gap: float, has_gaps: bool, machine: Machine
) -> None:
    found = make(machine)
    found._seconds, found._gap = active, gap
    assert found._has_gaps is has_gaps


def test_one_gap_may_be_a_run_that_waits_for_the_tuner(machine: Machine) -> None:
    found, begin, gaps = make(machine), 10.0, []
    found.stage = Stage.WATCHING
    for gap in (0.0, 20e-3, 0.0, 20e-3, 30e-3):
        found.last_run = begin
        found.observe([X], [X], begin + gap, 1e-3)
        gaps.append(found._gap)
    assert gaps == [0.0, 0.0, 0.0, 0.0, pytest.approx(20e-3)]


def test_a_pair_in_a_gap_counts_if_no_run_comes(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    found = machine.begin(machine.compile())
    (rival,) = found.challengers
    found.judge()
    found.spent = 10.0
    count = len(rival.evidence.logs)
    assert found.measure_pair()
    assert len(rival.evidence.logs) == count + 1
    time_active = found._time_active

    def time_beside_a_run(sample: Any) -> Any:
        found.last_run += 1e-3
        return time_active(sample)

    monkeypatch.setattr(found, "_time_active", time_beside_a_run)
    assert found.measure_pair()
    assert len(rival.evidence.logs) == count + 1


def test_the_active_plan_takes_the_median_of_its_last_runs(machine: Machine) -> None:
    found = make(machine)
    found._recent.extend([9e-3, 9e-3, *[1e-3] * 3, *[2e-3] * 4, 5e-3])
    assert len(found._recent) == 8
    assert found.active_seconds == 2e-3
    found._recent.clear()
    assert found.active_seconds == 2e-3


@pytest.mark.parametrize(
    ("logs", "is_dropped"),
    [([0.49, 0.49], True), ([0.51, 0.51], False), ([0.21], False), ([0.19], True), ([], True)],
)
def test_challengers_behind_the_best_are_dropped(logs: list[float], is_dropped: bool, machine: Machine) -> None:
    """The best is faster by 0.5; one pair may be 0.3 off."""
    rival, best = Rival("slow", logs), Rival("fast", [0.5] * 4, Standing.FASTER)
    among(make(machine), rival, best, Rival("fair", [0.3] * 4, Standing.FASTER)).judge()
    assert rival.dropped is is_dropped
    assert not best.dropped


def test_without_a_faster_one_nobody_is_dropped(machine: Machine) -> None:
    rival = Rival("slow", [-0.5, -0.5])
    among(make(machine), rival, Rival("even", [0.1] * 4, Standing.EVEN)).judge()
    assert not rival.dropped


def test_a_trial_is_decided_once_nobody_is_left_on_trial(machine: Machine) -> None:
    found = among(make(machine), Rival("a", standing=Standing.EVEN), Rival("b"))
    assert not found.is_decided
    assert found.describe() == "on trial: b (0 of 0 pairs faster, 1.00×)"
    found.challengers[1].standing = Standing.SLOWER
    assert found.is_decided
    assert found.describe() == "on trial"
    found._plans.append(plan_on("third"))
    assert not found.is_decided
    found._plans.clear()
    found.stage = Stage.OVER
    assert not found.is_decided
    assert found.describe() == ""


def test_the_winner_is_compared_with_the_plan_before_and_with_the_others(machine: Machine) -> None:
    best, other = Rival("fast", [0.5, 0.3], Standing.FASTER), Rival("fair", [0.1, 0.3], Standing.FASTER, reason="no")
    before, others = _compare_with(best, "everything on first", [other, best])  # type: ignore[arg-type,list-item]
    assert before == Comparison("everything on first", 0.0, [-0.5, -0.3], Standing.SLOWER)
    assert others[:2] + others[3:] == ("fair", 2e-3, Standing.SLOWER, "no")
    assert others.logs == pytest.approx([-0.3, -0.1])


def test_the_fastest_takes_over_and_the_others_are_recorded(machine: Machine) -> None:
    known = Comparison("everything on wrong", 1e-3, [], Standing.SLOWER, "output 0 differs")
    guarded: list[ReadyPlan] = []
    found = among(
        make(machine, [known], guard=lambda ready: guarded.append(ready) or ready),
        Rival("fair", [0.3] * 4, Standing.FASTER, seconds=5e-3),
        Rival("fast", [0.5] * 4, Standing.FASTER, seconds=4e-3),
        Rival("gone", [0.9] * 4, Standing.FASTER, ready=None),
    )
    fast = found.challengers[1].ready
    ready = found.conclude()
    assert guarded == [fast]
    assert ready.plan.devices == ("fast",)
    assert (ready.plan.measured, found.recorded, found.stage) == (4e-3, 4e-3, Stage.OVER)
    assert ready.plan.notes == (
        "everything on first: slower (0 of 4 pairs faster, 0.61×)",
        "fair: slower (0 of 4 pairs faster, 0.82×)",
        "gone: slower (4 of 4 pairs faster, 1.49×)",
        "everything on wrong: output 0 differs",
    )


def test_without_a_winner_the_active_plan_stays(machine: Machine) -> None:
    found = among(make(machine), Rival("even", [0.0] * 24, Standing.EVEN))
    found._seconds = 3e-3
    ready = found.conclude()
    assert ready.plan.devices == ("first",)
    assert (ready.plan.measured, found.recorded) == (3e-3, 3e-3)
    assert ready.plan.notes == ("even: about as fast (0 of 24 pairs faster, 1.00×)",)


def test_the_plan_before_is_forgotten_by_the_cache(machine: Machine) -> None:
    cache = Mock()
    found = among(make(machine), Rival("second", [0.5] * 4, Standing.FASTER))
    found.question = found.question._replace(cache=cache)
    found.conclude()
    assert cache.forget.call_args_list == [call(machine.devices[0], found.question.options)]
    cache.forget.reset_mock()
    again = among(make(machine), Rival("second", [-0.5] * 4, Standing.SLOWER))
    again.question = again.question._replace(cache=cache)
    again.conclude()
    assert cache.forget.call_args_list == []


@pytest.mark.parametrize(("seconds", "drifted"), [(1e-3, False), (1.6e-3, True), (0.6e-3, True)])
def test_drift_is_found_in_eight_runs_after_the_first(seconds: float, drifted: bool, machine: Machine) -> None:
    found = make(machine)
    found.conclude_as(1e-3)
    assert (found.stage, found.is_reported) == (Stage.OVER, False)
    found._recent.extend([9.0] * 8)
    found.watch()
    assert (found.stage, found.is_reported) == (Stage.WATCHING, True)
    found.observe([X], [X], 0.0, 9.0)
    for _ in range(8):
        assert found.has_drifted() is None
        found.observe([X], [X], 0.0, seconds)
    assert found.has_drifted() is drifted
    found.recorded = None
    assert found.has_drifted() is None


def test_a_new_trial_knows_the_exclusions_of_the_one_before(machine: Machine) -> None:
    known = [
        Comparison("wrong", 1e-3, [], Standing.SLOWER, "output 0 differs"),
        Comparison("slow", 1e-3, [-1.0], Standing.SLOWER),
    ]
    found = among(make(machine, known), Rival("second"))
    found.cost, found.spent = 3.0, 4.0
    found.restart()
    assert (found.challengers, found.cost, found.spent, found.stage) == ([], 0.0, 0.0, Stage.WAITING)
    assert list(found._known) == ["wrong"]


@pytest.mark.parametrize(("threads", "waits"), [(1, 0.0), (2, SPIN), (None, SPIN)])
def test_idle_threads_of_engines_are_awaited(threads: int | None, waits: float, machine: Machine) -> None:
    found = make(machine)
    found.active = ReadyPlan(plan_on("first", threads=threads), Mock())
    before = machine.clock.now
    found._await_idle_threads()
    assert machine.clock.now - before == pytest.approx(waits)


@pytest.mark.parametrize(
    ("pairs", "standing", "is_due"),
    [(1, "on trial", True), (3, "on trial", False), (3, "faster", True), (16, "on trial", True)],
)
def test_the_results_of_some_pairs_are_compared(pairs: int, standing: str, is_due: bool, machine: Machine) -> None:
    rival = Rival("second", [0.1] * pairs, Standing(standing), measure_beside=lambda active, inputs: [2 * X])
    found = make(machine)
    found._challenge(rival, 1e-3, [X], [X])  # type: ignore[arg-type]
    assert len(found._pending) == is_due
    vars(rival)["measure_beside"] = lambda active, inputs: None
    found._challenge(rival, 1e-3, [X], [X])  # type: ignore[arg-type]
    assert len(found._pending) == is_due


def test_the_next_run_is_the_counterpart_of_a_long_one(machine: Machine) -> None:
    """Both find cold caches. While results are compared nothing is measured."""
    machine.first.seconds, machine.second.seconds = 20e-3, 15e-3
    compilation = machine.compile()
    found = machine.begin(compilation)
    (rival,) = found.challengers
    found.judge()
    rival.evidence.logs.clear()
    found.spent = 10.0
    machine.first.seconds = 22e-3
    compilation.run(X)
    assert (rival.seconds, rival.evidence.logs) == (pytest.approx(15e-3), [])
    found.judge()
    assert len(found._pending) == 1, "the comparison would disturb the next run"
    machine.first.seconds = 24e-3
    compilation.run(X)
    assert rival.evidence.logs == [pytest.approx(math.log(24 / 15))]
    runs = machine.second.runs
    compilation.run(X)
    assert machine.second.runs == runs
    found.judge()
    compilation.run(X)
    assert (machine.second.runs, len(found._pending)) == (runs + 1, 1)
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
    assert found._reference is not None
    assert found._reference[0] == pytest.approx(31e-3)


def test_progress_is_recorded_only_where_there_are_pairs(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[Record] = []
    monkeypatch.setattr(module, "keep", lambda question, key, record: kept.append(record))
    among(make(machine), Rival("a")).keep_progress()
    done = among(make(machine), Rival("a", [0.1]))
    done.stage = Stage.OVER
    done.keep_progress()
    assert kept == []
    among(make(machine), Rival("a"), Rival("b", [0.1])).keep_progress()
    (record,) = kept
    assert (record.state, record.device) == ("predicted", "first")
    assert [(each.description, each.logs) for each in record.comparisons] == [("a", []), ("b", [0.1])]


def test_tuning_forgets_what_every_device_has_cached(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Mock()
    monkeypatch.setattr(tuning, "open_own_cache", lambda model: cache)
    tuning.tune(MODEL, machine.devices, threads=3)
    options = PrepareOptions(PreferenceCode.PREFER_FAST_SINGLE_ANSWER, threads=3)
    assert cache.forget.call_args_list == [call(device, options) for device in machine.devices]
