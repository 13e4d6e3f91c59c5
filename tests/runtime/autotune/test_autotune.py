"""Choice by measurement: what is declared loses against what is true."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from nnapi import Builder, Compilation, Device, Model, OperationCode, PreferenceCode, compile, device, settings, tensor
from nnapi.drivers import faulty
from nnapi.drivers.base import Capabilities, Performance, PrepareOptions
from nnapi.drivers.faulty import Fault, Faulty, Phase
from nnapi.drivers.limited import Limited
from nnapi.runtime.autotune import autotune, plan_timing, timing
from nnapi.runtime.autotune.measurements import ATTEMPTS, make_key, parse_measurements
from nnapi.runtime.autotune.plan_timing import SURE
from nnapi.runtime.executors.parts import ReadyPlan
from nnapi.runtime.planning.explain import as_data, as_text, summary
from nnapi.runtime.planning.plan import Plan
from nnapi.runtime.planning.planner import make_plans
from nnapi.store.directories import RecordKind, directory_of
from nnapi.store.entry import list_entries, read_entry
from nnapi.store.records import keep_record, recall_record

FAST = Capabilities(Performance(0.5, 0.5), launch_seconds=0)
X = np.ones((2, 2), np.float32)


class Clock:
    """What stands in for the module time: whatever does not sleep takes ten microseconds."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        self.now += 1e-5
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture(autouse=True)
def tuned(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("NNAPI_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("nnapi.runtime.autotune.autotune.Watch.is_disturbed", lambda watch: False)
    clock = Clock()
    for module in (plan_timing, timing, faulty):
        monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(plan_timing, "time_undisturbed", timing.time_call)
    monkeypatch.setattr(plan_timing, "count_waited_seconds", lambda: 0.0)
    with settings(tuning=True):
        yield


def model(dimensions: tuple[int, int] = (2, 2)) -> Model:
    b = Builder()
    x = b.input(tensor("float32", dimensions))
    b.output(b.mul(b.add(x, X), X))
    return b.finish()


def wide() -> Model:
    """What takes the nominal processor some 0.2 ms, and one that declares to be hopeless a thousand times as long."""
    b = Builder()
    x = b.input(tensor("float32", (100_000,)))
    b.output(b.add(x, np.ones(1, np.float32)))
    return b.finish()


def boaster(fault: Fault = Fault.SLOW, phase: Phase = Phase.EXECUTE) -> tuple[Device, Faulty]:
    """A device that declares to be the fastest and is not."""
    driver = Faulty(Limited(device("nnapi-reference").driver, "boaster", declared=FAST), fault, phase, seconds=0.01)
    return Device(driver), driver


def kept_measurements() -> tuple[str, dict[str, Any]]:
    """The key and the content of the one record of measured plans."""
    (entry,) = list_entries(directory_of(RecordKind.PLANS))
    content = read_entry(entry.path)
    assert content is not None
    found = recall_record(RecordKind.PLANS, content.purpose, dict)
    assert found is not None
    return content.purpose, found


def compiled(*devices: Device, preference: PreferenceCode | None = None) -> Compilation:
    return compile(model(), [*devices, device("nnapi-reference")], preference)


def test_the_faster_plan_wins_whatever_is_declared() -> None:
    compilation = compiled(boaster()[0])
    assert [chosen.name for chosen in compilation.devices] == ["nnapi-reference"]
    assert compilation.plan.measured is not None
    (other,) = compilation.plan.alternatives
    assert other.description == "everything on boaster"
    assert other.measured is not None
    assert other.measured > 0.01 > compilation.plan.measured
    assert "measured" in compilation.explain()
    np.testing.assert_array_equal(compilation.run(X)[0], 2 * X)


def test_what_was_measured_is_remembered() -> None:
    first, driver = boaster()
    compiled(first)
    assert 0 < driver.struck <= 1 + SURE
    second, driver = boaster()
    remembered = compiled(second)
    assert driver.struck == 0
    assert [chosen.name for chosen in remembered.devices] == ["nnapi-reference"]
    assert remembered.plan.measured is not None


def test_the_plan_that_was_chosen_is_chosen_again_whatever_else_was_faster() -> None:
    compiled(boaster()[0])
    key, kept = kept_measurements()
    times = kept["times"]
    chosen, other = times
    assert "nnapi-reference" in chosen
    keep_record(RecordKind.PLANS, key, kept | {"times": {other: times[other], chosen: times[chosen]}, "choice": None})
    assert [chosen.name for chosen in compiled(boaster()[0]).devices] == ["boaster"]


def test_what_was_chosen_is_prepared_and_nobody_is_asked_before_somebody_wants_to_know() -> None:
    measured = compiled(boaster()[0])
    slow, driver = boaster()
    with patch.object(Faulty, "verdicts", side_effect=Faulty.verdicts, autospec=True) as asked:
        known = compiled(slow)
        np.testing.assert_array_equal(known.run(X)[0], 2 * X)
        assert not asked.called
        assert as_text(known.plan) == as_text(measured.plan)
        assert asked.called
    assert driver.struck == 0
    assert list(known.plan.decisions) == list(measured.plan.decisions)


def test_without_a_choice_to_make_what_was_chosen_is_known_too() -> None:
    refusing = Device(Limited(device("nnapi-reference").driver, "refusing", refuses=lambda *call: "it takes none"))
    compiled(refusing)
    with patch.object(Limited, "verdicts", side_effect=Limited.verdicts, autospec=True) as asked:
        assert [chosen.name for chosen in compiled(refusing).devices] == ["nnapi-reference"]
    assert not asked.called


def test_a_choice_that_cannot_be_prepared_any_more_is_made_anew() -> None:
    compiled(boaster()[0])
    key, kept = kept_measurements()
    keep_record(RecordKind.PLANS, key, kept | {"choice": ["boaster", 0.5, None, [], "", 2]})
    assert [chosen.name for chosen in compiled(boaster()[0]).devices] == ["boaster"]
    failing, driver = boaster(Fault.FAILS, Phase.PREPARE)
    assert [chosen.name for chosen in compiled(failing).devices] == ["nnapi-reference"]
    assert driver.struck > 0


def test_what_others_disturbed_is_measured_again_until_two_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nnapi.runtime.autotune.autotune.Watch.is_disturbed", lambda watch: True)
    for attempt in range(3):
        slow, driver = boaster()
        assert [chosen.name for chosen in compiled(slow).devices] == ["nnapi-reference"]
        assert (driver.struck > 0) == (attempt < 2)


def test_comparisons_that_never_agree_have_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nnapi.runtime.autotune.autotune.Watch.is_disturbed", lambda watch: True)
    for attempt in range(ATTEMPTS + 1):
        slow, driver = boaster()
        compiled(slow)
        assert (driver.struck > 0) == (attempt < ATTEMPTS)
        key, kept = kept_measurements()
        others_first = dict(reversed(kept["times"].items()))  # as if that had been chosen
        keep_record(RecordKind.PLANS, key, kept | {"times": others_first})


@pytest.mark.parametrize(("is_disturbed", "chosen"), [(True, "boaster"), (False, "nnapi-reference")])
def test_the_best_of_disturbed_measurements_counts(
    monkeypatch: pytest.MonkeyPatch, is_disturbed: bool, chosen: str
) -> None:
    monkeypatch.setattr("nnapi.runtime.autotune.autotune.Watch.is_disturbed", lambda watch: True)
    compiled(boaster()[0])
    key, kept = kept_measurements()
    kept["times"] |= {name: 1e-9 for name in kept["times"] if "boaster" in name}
    keep_record(RecordKind.PLANS, key, kept)
    monkeypatch.setattr("nnapi.runtime.autotune.autotune.Watch.is_disturbed", lambda watch: is_disturbed)
    assert [each.name for each in compiled(boaster()[0]).devices] == [chosen]


def test_low_power_follows_what_is_declared() -> None:
    slow, driver = boaster()
    compilation = compiled(slow, preference=PreferenceCode.PREFER_LOW_POWER)
    assert [chosen.name for chosen in compilation.devices] == ["boaster"]
    assert driver.struck == 0


def test_it_can_be_switched_off() -> None:
    with settings(tuning=False):
        assert [chosen.name for chosen in compiled(boaster()[0]).devices] == ["boaster"]


def test_open_dimensions_are_taken_for_1() -> None:
    compilation = compile(model((0, 2)), [boaster()[0], device("nnapi-reference")])
    assert [chosen.name for chosen in compilation.devices] == ["nnapi-reference"]
    assert compilation.plan.measured is not None
    np.testing.assert_array_equal(compilation.run(X)[0], 2 * X)


def test_inputs_of_unknown_rank_cannot_be_made_up() -> None:
    slow, driver = boaster()
    b = Builder()
    x = b.input(tensor("float32", ()))
    b.output(b.abs(x))
    compile(b.finish(), [slow, device("nnapi-reference")])
    assert driver.struck == 0


@pytest.mark.parametrize("phase", Phase)
def test_a_plan_that_fails_is_left_out(phase: Phase) -> None:
    compilation = compiled(boaster(Fault.FAILS, phase)[0])
    assert [chosen.name for chosen in compilation.devices] == ["nnapi-reference"]


def half_boaster() -> Device:
    """A device that takes ADD only, declares to be faster and is slower."""
    only_add = Limited(
        device("nnapi-reference").driver,
        "half",
        lambda model, call: None if call.code == OperationCode.ADD else f"{call}: not for half",
        Capabilities(Performance(0.05, 0.05), launch_seconds=0, seconds_per_byte=0),
    )
    return Device(Faulty(only_add, Fault.SLOW, Phase.EXECUTE, seconds=0.01))


def test_a_divided_plan_is_compared_with_the_undivided_one() -> None:
    compilation = compiled(half_boaster())
    assert [chosen.name for chosen in compilation.devices] == ["nnapi-reference"]
    (other,) = compilation.plan.alternatives
    assert other.description == "1 on half and 1 on nnapi-reference"
    assert other.seconds < compilation.plan.predicted
    assert (other.measured or 0) > 0.01


def test_the_summary_tells_both_times_of_the_winner_and_of_the_runner_up() -> None:
    plan = compiled(boaster()[0], half_boaster()).plan
    second = plan.alternatives[0]
    assert [other.measured for other in plan.alternatives] == sorted(
        other.measured or float("inf") for other in plan.alternatives
    )
    milliseconds = r"[0-9.]+ (ms|µs)"
    times = rf"predicted {milliseconds}, measured {milliseconds}"
    assert re.search(rf"; {times}, before {second.description}: {times}$", summary(plan))
    assert as_data(plan)["alternatives"][0]["measured_seconds"] == second.measured


def test_a_plan_that_was_not_compared_is_compared_with_what_was() -> None:
    compiled(boaster()[0])
    key, kept = kept_measurements()
    times = kept["times"]
    del times[next(name for name in times if "boaster" in name)]
    keep_record(RecordKind.PLANS, key, kept | {"choice": None})
    first, driver = boaster()
    compiled(first)
    assert driver.struck > 0
    assert len(kept_measurements()[1]["times"]) == 2


def test_when_the_time_is_over_each_has_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_timing, "BUDGET", 0.0)
    first, driver = boaster()
    plan = compiled(first).plan
    assert 0 < driver.struck <= 1 + SURE
    assert plan.devices == ("nnapi-reference",)
    assert (plan.alternatives[0].measured or 0) > 0.01


@pytest.mark.parametrize(("patience", "count"), [(0.0, 1), (100.0, 2)])
def test_no_candidate_is_made_ready_after_the_patience(patience: float, count: int) -> None:
    devices = [device("nnapi-reference"), boaster()[0]]
    named = {each.name: each for each in devices}
    plans = make_plans(model(), devices, PreferenceCode.PREFER_FAST_SINGLE_ANSWER)
    made: list[Plan] = []

    def prepare(plan: Plan) -> ReadyPlan:
        made.append(plan)
        return ReadyPlan(plan, named[plan.devices[0]].driver.prepare(plan.model, PrepareOptions()))

    key = make_key(model(), devices, PrepareOptions())
    chosen = autotune.choose_fastest(model(), plans, key, prepare, patience)
    assert len(plans) == 2
    assert len(made) == count
    assert chosen.plan.identity in {plan.identity for plan in made}


def test_a_hopeless_runner_up_is_measured_where_that_takes_no_time() -> None:
    declared = Capabilities(Performance(1000, 1000), launch_seconds=0, seconds_per_byte=0)
    hopeless = Device(Limited(device("nnapi-reference").driver, "hopeless", declared=declared))
    plan = compiled(hopeless).plan
    (other,) = plan.alternatives
    assert other.measured is not None
    large = compile(wide(), [hopeless, device("nnapi-reference")]).plan
    assert large.measured is not None
    assert large.alternatives[0].seconds > autotune.HOPELESS * large.measured
    assert large.alternatives[0].measured is None


GOOD = {
    "times": {"plan": 0.5},
    "threads": 1,
    "disturbed": 1,
    "choice": ["here", 0.5, 0.25, [["there", 0.75, None]], "", 3],
}


@pytest.mark.parametrize(
    "data",
    [
        [],
        {},
        3,
        {"times": {"plan": 0.5}},
        GOOD | {"times": {"plan": "soon"}},
        GOOD | {"times": [0.5]},
        GOOD | {"threads": "two"},
        GOOD | {"disturbed": "never"},
        GOOD | {"choice": ["xnnpack-cpu", 0.5, None]},
        GOOD | {"choice": ["xnnpack-cpu", "soon", None, [], "", 3]},
        GOOD | {"choice": ["xnnpack-cpu", 0.5, None, [], "", "many"]},
    ],
)
def test_what_is_no_measurement_is_refused(data: Any) -> None:
    with pytest.raises((ValueError, KeyError, TypeError, AttributeError)):
        parse_measurements(data)
    choice = ("here", 0.5, 0.25, (("there", 0.75, None),), "", 3)
    assert parse_measurements(GOOD) == ({"plan": 0.5}, 1, 1, choice)
