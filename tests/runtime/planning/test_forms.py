"""Forms that a driver can give a model: each is a candidate like others, and what was chosen is known again."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nnapi import Builder, Compilation, Device, Model, compile, device, settings, tensor
from nnapi.codes import PreferenceCode
from nnapi.drivers import faulty
from nnapi.drivers.base import CacheEntry, Outcome, Prepared, PrepareOptions, Request
from nnapi.drivers.limited import Limited
from nnapi.runtime.autotune import plan_timing, timing
from nnapi.runtime.planning.explain import as_data, summary
from nnapi.runtime.planning.forms import add_forms
from nnapi.runtime.planning.planner import make_plans
from tests.runtime.autotune.test_autotune import FAST, Clock

X = np.ones((2, 2), np.float32)


class Shaping(Limited):
    """The reference, with a form of every model that is faster, or slower, by the seconds of a table."""

    def __init__(self, seconds: dict[str, float], clock: Clock) -> None:
        super().__init__(device("nnapi-reference").driver, "shaping", declared=FAST)
        self.seconds, self.clock = seconds, clock
        self.asked: list[str] = []
        self.restored: list[str] = []

    def list_forms(self, model: Model) -> list[str]:
        return [form for form in self.seconds if form]

    def prepare(self, model: Model, options: PrepareOptions) -> Prepared:
        self.asked.append(options.form)
        return _Timed(super().prepare(model, options), self.seconds[options.form], self.clock)

    def cache_entry(self, prepared: Prepared) -> bytes:
        return b"kept"

    def restore(self, model: Model, entry: CacheEntry, options: PrepareOptions) -> Prepared:
        self.restored.append(options.form)
        return _Timed(super().prepare(model, options), self.seconds[options.form], self.clock)


class _Timed:
    def __init__(self, prepared: Prepared, seconds: float, clock: Clock) -> None:
        self._prepared, self._seconds, self._clock = prepared, seconds, clock

    def execute(self, request: Request) -> Outcome:
        self._clock.now += self._seconds
        return self._prepared.execute(request)

    def close(self) -> None:
        self._prepared.close()


class _Slow(Limited):
    """The reference under another name, slower than every form."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(device("nnapi-reference").driver, "slow")
        self._clock = clock

    def prepare(self, model: Model, options: PrepareOptions) -> Prepared:
        return _Timed(super().prepare(model, options), 1e-3, self._clock)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Clock:
    monkeypatch.setenv("NNAPI_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("nnapi.runtime.autotune.autotune.Watch.is_disturbed", lambda watch: False)
    clock = Clock()
    for module in (plan_timing, timing, faulty):
        monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(plan_timing, "time_undisturbed", timing.time_call)
    monkeypatch.setattr(plan_timing, "count_waited_seconds", lambda: 0.0)
    return clock


def model() -> Model:
    b = Builder()
    x = b.input(tensor("float32", (2, 2)))
    b.output(b.mul(b.add(x, X), X))
    return b.finish()


def compiled(driver: Shaping, **options: Any) -> Compilation:
    with settings(tuning=True):
        return compile(model(), [Device(driver), Device(_Slow(driver.clock))], **options)


@pytest.mark.parametrize(("usual", "other", "chosen"), [(2e-5, 4e-5, ""), (4e-5, 2e-5, "upside down")])
def test_the_form_that_runs_faster_is_chosen_and_explained(
    usual: float, other: float, chosen: str, clock: Clock
) -> None:
    driver = Shaping({"": usual, "upside down": other}, clock)
    compilation = compiled(driver)
    plan = compilation.plan
    assert plan.form == chosen
    assert plan.measured == pytest.approx(min(usual, other), rel=1)
    names = {"everything on shaping", "everything on shaping, upside down", "everything on slow"}
    assert {plan.name, *(each.description for each in plan.alternatives)} == names
    assert ("upside down" in summary(plan).split(", before")[0]) == (chosen == "upside down")
    assert as_data(plan)["form"] == chosen
    np.testing.assert_array_equal(compilation.run(X)[0], 2 * X)


def test_the_form_that_was_chosen_is_prepared_at_once(clock: Clock) -> None:
    table = {"": 4e-5, "upside down": 2e-5}
    first = Shaping(table, clock)
    assert compiled(first).plan.form == "upside down"
    assert sorted(first.asked) == ["", "upside down"]
    second = Shaping(table, clock)
    known = compiled(second)
    assert second.asked == [] or second.asked == ["upside down"]
    assert known.plan.form == "upside down"


def test_the_form_is_kept_in_a_cache_and_restored(clock: Clock, tmp_path: Path) -> None:
    table = {"": 4e-5, "upside down": 2e-5}
    cache = tmp_path / "cache"
    assert compiled(Shaping(table, clock), cache=cache).plan.form == "upside down"
    again = Shaping(table, clock)
    assert compiled(again, cache=cache).plan.form == "upside down"
    assert again.restored == ["upside down"]
    assert again.asked == []


def test_plans_that_are_not_compared_have_the_usual_form(clock: Clock) -> None:
    devices = [Device(Shaping({"": 1e-6, "upside down": 1e-6}, clock)), device("nnapi-reference")]
    preference = PreferenceCode.PREFER_FAST_SINGLE_ANSWER
    (only,) = make_plans(model(), devices, preference, compared=False)
    assert only.form == ""
    assert [plan.form for plan in add_forms([only], devices)] == ["", "upside down"]
    assert [plan.form for plan in make_plans(model(), devices, preference)] == ["", "upside down", ""]
