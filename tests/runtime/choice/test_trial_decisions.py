"""The single decisions of a trial: who is compared, who is next, within which budget and gaps, who wins."""

from unittest.mock import Mock, call

import pytest

from nnapi.codes import PreferenceCode
from nnapi.contract.driver import PrepareOptions
from nnapi.runtime.choice import ledger
from nnapi.runtime.choice import tune as tuning
from nnapi.runtime.choice.ledger import compare_with
from nnapi.runtime.choice.paired_times import Standing
from nnapi.runtime.choice.record import Comparison, Record
from nnapi.runtime.choice.schedule import Stage, Turn
from nnapi.runtime.choice.trial import SPIN
from nnapi.runtime.executors.prepared_partitions import ReadyPlan
from tests.runtime.choice.trial_cases import MODEL, Machine, Rival, X, among, make, plan_on, work_of


def test_a_new_trial_has_spent_nothing(machine: Machine) -> None:
    found = make(machine)
    schedule, runs = found.schedule, found.schedule.runs
    assert (runs.spent, schedule.cost, runs.end, schedule.first_run, runs.median) == (0, 0, 0, 0, 0)
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
    variants = [
        plan_on("first", seconds).with_variant(name) for name, seconds in zip("abcdefg", predicted, strict=False)
    ]
    monkeypatch.setattr("nnapi.runtime.choice.predict.list_plans", lambda question, threads: variants)
    found = make(machine)
    found.active = ReadyPlan(variants[0], Mock())
    found.begin_on([X])
    found.prepare()
    assert [plan.variant for plan in work_of(found).plans] == names


def test_plans_that_were_excluded_are_not_tried_again(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    plans = [plan_on(name) for name in ("first", "wrong", "slow")]
    monkeypatch.setattr("nnapi.runtime.choice.predict.list_plans", lambda question, threads: plans)
    known = [
        Comparison("everything on wrong", 1e-3, [], Standing.SLOWER, "output 0 differs"),
        Comparison("everything on slow", 1e-3, [-0.1], Standing.ON_TRIAL),
    ]
    found = make(machine, known)
    found.begin_on([X])
    found.prepare()
    assert [plan.devices[0] for plan in work_of(found).plans] == ["slow"]


def test_a_trial_is_decided_once_nobody_is_left_on_trial(machine: Machine) -> None:
    found = among(make(machine), Rival("a", standing=Standing.EVEN), Rival("b"))
    assert not found.schedule.is_decided
    assert found.describe() == "on trial: b (no pair measured)"
    found.challengers[1].standing = Standing.SLOWER
    assert found.schedule.is_decided
    assert found.describe() == "on trial"
    found.schedule.unprepared = 1
    assert not found.schedule.is_decided
    found.schedule.unprepared = 0
    found.schedule.stage = Stage.OVER
    assert not found.schedule.is_decided
    assert found.describe() == ""


def test_the_winner_is_compared_with_the_plan_before_and_with_the_others(machine: Machine) -> None:
    best, other = Rival("fast", [0.5, 0.3], Standing.FASTER), Rival("fair", [0.1, 0.3], Standing.FASTER, reason="no")
    before, others = compare_with(best, plan_on("first", 7e-3), [other.describe()])  # type: ignore[arg-type]
    assert before == Comparison("everything on first", 7e-3, [-0.5, -0.3], Standing.SLOWER)
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
    found.schedule.runs._median = 3e-3
    ready = found.conclude()
    assert ready.plan.devices == ("first",)
    assert (ready.plan.measured, found.recorded) == (3e-3, 3e-3)
    assert ready.plan.notes == ("even: about as fast (0 of 24 pairs faster, 1.00×)",)


def test_the_plan_before_is_forgotten_by_the_cache(machine: Machine) -> None:
    cache = Mock()
    found = among(make(machine), Rival("second", [0.5] * 4, Standing.FASTER))
    found.question.cache = cache
    found.conclude()
    assert cache.forget.call_args_list == [call(machine.devices[0], found.question.options)]
    cache.forget.reset_mock()
    again = among(make(machine), Rival("second", [-0.5] * 4, Standing.SLOWER))
    again.question.cache = cache
    again.conclude()
    assert cache.forget.call_args_list == []


@pytest.mark.parametrize(("seconds", "drifted"), [(1e-3, False), (1.6e-3, True), (0.6e-3, True)])
def test_drift_is_found_in_eight_runs_after_the_first(seconds: float, drifted: bool, machine: Machine) -> None:
    found = make(machine)
    found.conclude_as_recorded(1e-3)
    assert (found.stage, found.is_reported) == (Stage.OVER, False)
    found.schedule.runs.recent.extend([9.0] * 8)
    found.watch()
    assert (found.stage, found.is_reported) == (Stage.WATCHING, True)
    found.observe([X], [X], 0.0, 9.0)
    for _ in range(8):
        assert found.schedule.has_drifted(found.recorded) is None
        found.observe([X], [X], 0.0, seconds)
    assert found.schedule.has_drifted(found.recorded) is drifted
    found.recorded = None
    assert found.schedule.has_drifted(found.recorded) is None


def test_a_new_trial_knows_the_exclusions_of_the_one_before(machine: Machine) -> None:
    known = [
        Comparison("wrong", 1e-3, [], Standing.SLOWER, "output 0 differs"),
        Comparison("slow", 1e-3, [-1.0], Standing.SLOWER),
    ]
    found = among(make(machine, known), Rival("second"))
    schedule, schedule.stage = found.schedule, Stage.WATCHING
    schedule.cost, schedule.runs.spent, schedule.first_run = 3.0, 4.0, 99.0
    found.restart()
    assert (schedule.contenders, schedule.cost, schedule.runs.spent, schedule.first_run) == ([], 0.0, 0.0, 0.0)
    assert found.stage is Stage.WAITING
    assert list(found.ledger._known) == ["wrong"]


@pytest.mark.parametrize(("threads", "waits"), [(1, 0.0), (2, SPIN), (None, SPIN)])
def test_idle_threads_of_engines_are_awaited(threads: int | None, waits: float, machine: Machine) -> None:
    found = make(machine)
    found.active = ReadyPlan(plan_on("first", threads=threads), Mock())
    before = machine.clock.now
    found._await_idle_threads()
    assert machine.clock.now - before == pytest.approx(waits)


@pytest.mark.parametrize(
    ("pairs", "standing", "is_due"),
    [(0, "on trial", True), (2, "on trial", False), (2, "faster", True), (15, "on trial", True)],
)
def test_the_results_of_some_pairs_are_compared(pairs: int, standing: str, is_due: bool, machine: Machine) -> None:
    rival = Rival("second", [0.1] * pairs, Standing(standing), measure=lambda active, inputs: [2 * X])
    found = among(make(machine), rival)
    work, turn = work_of(found), Turn(rival)  # type: ignore[type-var]
    found._challenge(work, turn, [X], [X])  # type: ignore[arg-type]
    assert len(work.results) == found.schedule.unjudged == is_due
    vars(rival)["measure"] = lambda active, inputs: None
    found._challenge(work, turn, [X], [X])  # type: ignore[arg-type]
    assert len(work.results) == is_due


def test_progress_is_recorded_only_where_there_are_pairs(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[Record] = []
    monkeypatch.setattr(ledger, "keep", lambda question, key, record: kept.append(record))
    among(make(machine), Rival("a")).keep_progress()
    done = among(make(machine), Rival("a", [0.1]))
    done.schedule.stage = Stage.OVER
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
