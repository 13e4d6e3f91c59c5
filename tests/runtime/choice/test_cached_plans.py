"""Plans kept in the compilation cache: who is asked nothing, and when they are not taken."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from nnapi import Compilation, Device, Model, OperationCode, PreferenceCode, compile, device
from nnapi.contract.driver import Capabilities, Performance, PrepareOptions, Verdict
from nnapi.drivers.profiles.driver import make_driver
from nnapi.profiles.profile import OperationLimits, Profile
from nnapi.runtime.cache.compilation_cache import Cache
from nnapi.runtime.choice.knowledge import Cached, Fixed, recall
from nnapi.runtime.choice.question import Question
from nnapi.runtime.planning.explain import as_text
from nnapi.runtime.settings import settings
from nnapi.store.entry import list_entries, read_entry
from tests.runtime.cache_cases import TOKEN, Slow, doubled

REFERENCE = device("nnapi-reference")


class Asked(Slow):
    """Counts how often it was asked for verdicts."""

    def __init__(self, name: str = "slow", version: str = "1", reason: str = "") -> None:
        super().__init__(name, version)
        self.asked = 0
        self.reason = reason

    def verdicts(self, model: Model) -> Sequence[Verdict]:
        self.asked += 1
        return [Verdict(False, self.reason)] * len(model.operations) if self.reason else super().verdicts(model)


def with_cache(directory: Path, *drivers: Slow, model: Model | None = None, **options: object) -> Compilation:
    devices = [*map(Device, drivers), REFERENCE]
    return compile(model or doubled(), devices, cache=(directory, TOKEN), **options)  # type: ignore[arg-type]


def sooner(driver: Asked) -> Asked:
    """The driver, declared so fast that plans choose it."""
    driver.capabilities = lambda: Capabilities(Performance(1e-6, 1e-6), launch_seconds=0, seconds_per_byte=0)  # type: ignore[method-assign]
    return driver


@pytest.fixture(autouse=True)
def no_comparison() -> Iterator[None]:
    with settings(tuning=False):
        yield


def test_nobody_is_asked_again_and_the_explanation_is_the_same(tmp_path: Path) -> None:
    drivers = [[sooner(Asked("fast")), Asked("shy", reason="ADD (#0): not today")] for _ in range(2)]
    cold, warm = (with_cache(tmp_path, *pair) for pair in drivers)
    assert [driver.asked for pair in drivers for driver in pair] == [1, 0, 0, 0]
    assert warm.plan.devices == ("fast",)
    assert "not today" in warm.explain()
    assert as_text(warm.plan) == as_text(cold.plan)
    assert warm.plan.steps[0].model is warm.model  # type: ignore[union-attr]
    assert warm.run(np.array([1, 2], np.float32))[0].tolist() == [2, 4]


def test_a_restored_plan_reports_refused_precisions_as_a_prepared_one(tmp_path: Path) -> None:
    compilations = [with_cache(tmp_path, sooner(Asked())) for _ in range(2)]
    cold, warm = (
        [each.is_restored for each in compilation.need_active().ready.partitions] for compilation in compilations
    )
    assert (cold, warm) == ([False], [True])
    ready = compilations[1].need_active().ready
    ready.partitions[0].prepared.precision_refusal = "too deep"  # type: ignore[attr-defined]
    assert ready.find_precision_refusals() == {"slow": "too deep"}


@pytest.mark.parametrize(
    "change",
    [
        {"drivers": [("fast", "1"), ("other", "1")]},
        {"drivers": [("fast", "1"), ("shy", "2")]},
        {"threads": 3},
        {"preference": PreferenceCode.PREFER_SUSTAINED_SPEED},
    ],
    ids=["other devices", "another version", "threads", "preference"],
)
def test_what_a_plan_depends_on(change: dict[str, object], tmp_path: Path) -> None:
    with_cache(tmp_path, sooner(Asked("fast")), Asked("shy"))
    names: Sequence[tuple[str, str]] = change.pop("drivers", [("fast", "1"), ("shy", "1")])  # type: ignore[assignment]
    drivers = [Asked(*name) for name in names]
    with_cache(tmp_path, sooner(drivers[0]), drivers[1], **change)  # type: ignore[arg-type]
    assert [driver.asked for driver in drivers] == [1, 0]


def test_nothing_is_recalled_beside_a_device_that_stands_for_another(tmp_path: Path) -> None:
    """Between the two compilations its profile has changed, of which neither its name nor its version tells."""
    fast, other = (Capabilities(Performance(t, t), launch_seconds=0, seconds_per_byte=0) for t in (1e-3, 0.5))
    for operations, expected in (({}, "slow"), ({OperationCode.MUL: OperationLimits()}, "phone")):
        profile = Profile("phone", capabilities=fast, operations=operations)
        phone = Device(make_driver(profile, [REFERENCE.driver]))
        slow = Asked()
        slow.capabilities = lambda: other  # type: ignore[method-assign]
        made = compile(doubled(), [phone, Device(slow), REFERENCE], cache=(tmp_path, TOKEN))
        assert [decision.chosen for decision in made.plan.decisions] == [expected]


def test_a_plan_of_another_model_is_not_taken(tmp_path: Path) -> None:
    with_cache(tmp_path, sooner(Asked()))
    driver = sooner(Asked())
    warm = with_cache(tmp_path, driver, model=doubled(weight=3.0))
    assert driver.asked == 1
    assert warm.run(np.array([1, 2], np.float32))[0].tolist() == [3, 6]


def test_an_entry_that_the_driver_refuses_is_planned_anew(tmp_path: Path) -> None:
    with_cache(tmp_path, sooner(Asked()))
    driver = sooner(Asked())
    driver.refuses_to_restore = True
    assert with_cache(tmp_path, driver).run(np.array([1, 2], np.float32))[0].tolist() == [2, 4]
    assert (driver.asked, driver.prepared) == (1, ["doubled"])


def test_where_a_driver_refuses_its_entry_the_plan_cached_for_another_is_taken(tmp_path: Path) -> None:
    drivers = [sooner(Asked("first")), Asked("second")]
    question = Question(doubled(), [*map(Device, drivers), REFERENCE], PrepareOptions(), Cache(tmp_path, TOKEN))
    for each in question.devices[:2]:
        found = {"conditions": question.conditions, "device": each.name, "operations": 1, "threads": None}
        text = json.dumps({**found, "variant": "", "notes": ["as before"], "times": None}).encode()
        prepared = each.driver.prepare(question.model, PrepareOptions())
        Cache(tmp_path, TOKEN).keep(each, question.model, PrepareOptions(), prepared, plan=text)
    drivers[0].refuses_to_restore = True
    compiled = with_cache(tmp_path, *drivers)
    assert (compiled.plan.devices, compiled.plan.notes) == (("second",), ("as before",))
    assert [(driver.asked, len(driver.prepared), len(driver.restored)) for driver in drivers] == [(0, 1, 0), (0, 1, 1)]


def test_a_driver_that_caches_no_longer_is_planned_anew(tmp_path: Path) -> None:
    with_cache(tmp_path, sooner(Asked()))
    driver = sooner(Asked())
    plain = SimpleNamespace(
        info=driver.info, **{n: getattr(driver, n) for n in ("capabilities", "verdicts", "prepare")}
    )
    found = compile(doubled(), [Device(plain), REFERENCE], cache=(tmp_path, TOKEN))
    assert found.run(np.array([1, 2], np.float32))[0].tolist() == [2, 4]
    assert (driver.asked, driver.prepared) == (1, ["doubled"])


def test_a_text_that_is_no_plan_is_passed_over(tmp_path: Path) -> None:
    with_cache(tmp_path, sooner(Asked()))
    chosen, options = Device(sooner(Asked())), PrepareOptions()

    def question() -> Question:
        return Question(doubled(), [chosen, REFERENCE], options, Cache(tmp_path, TOKEN))

    wanted, cache = question().conditions, Cache(tmp_path, TOKEN)
    assert isinstance(recall(question()), Cached)
    for text in (b"{", b"[]", b'{"conditions": 1}', json.dumps({"conditions": wanted, "device": "slow"}).encode()):
        cache.keep_plan(chosen, doubled(), options, text)
        assert cache.recall_plan(chosen, options) == text
        assert recall(question()) == Fixed("tuning is off")
    driver = sooner(Asked())
    with_cache(tmp_path, driver)
    assert (driver.asked, driver.restored) == (1, [b"entry of doubled"])


def test_a_plan_chosen_by_comparison_is_kept_with_its_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NNAPI_CACHE_DIR", str(tmp_path / "measured"))
    monkeypatch.setattr("nnapi.runtime.choice.predict.is_tiny", lambda model: False)
    directory = tmp_path / "cache"
    directory.mkdir()
    again = candidates()
    with settings(tuning=True):
        cold = compile(doubled(), candidates(), cache=(directory, TOKEN))
        warm = compile(doubled(), again, cache=(directory, TOKEN))
    assert [device.driver.asked for device in again] == [0, 0]  # type: ignore[attr-defined]
    assert warm.plan.measured == cold.plan.measured is not None
    assert as_text(warm.plan) == as_text(cold.plan)


def candidates() -> list[Device]:
    return [Device(Asked("one")), Device(Asked("two"))]


def test_the_plan_stands_in_the_entry(tmp_path: Path) -> None:
    with_cache(tmp_path, sooner(Asked()))
    (entry,) = list_entries(tmp_path)
    content = read_entry(entry.path)
    assert content is not None
    assert json.loads(content.plan)["device"] == "slow"
    assert content.payload == b"entry of doubled"


class Out(Asked):
    """A driver whose engine is out of use in this process."""

    def outage(self) -> str:
        return "its threads stayed behind"


def test_a_plan_made_while_an_engine_is_out_of_use_is_for_nobody_else(tmp_path: Path) -> None:
    compiled = with_cache(tmp_path, sooner(Asked("first")), sooner(Out("second", reason="MUL (#0): not here")))
    assert compiled.plan.devices == ("first",)
    (entry,) = list_entries(tmp_path)
    content = read_entry(entry.path)
    assert content is not None
    assert content.plan == b""
    drivers = [sooner(Asked("first")), sooner(Asked("second"))]
    with_cache(tmp_path, *drivers)
    assert [driver.asked for driver in drivers] == [1, 0]


def test_a_kept_plan_for_an_engine_out_of_use_is_passed_over(tmp_path: Path) -> None:
    with_cache(tmp_path, sooner(Asked("first")))
    away = sooner(Out("first", reason="MUL (#0): not here"))
    assert with_cache(tmp_path, away).plan.devices == (REFERENCE.name,)
    assert away.restored == []
    again = sooner(Asked("first"))
    assert with_cache(tmp_path, again).plan.devices == ("first",)
    assert again.asked == 0


@pytest.mark.parametrize("text", [b"", b"{", b"{}", b'{"conditions": [], "device": "first"}'])
def test_an_entry_without_a_plan_that_fits_does_not_hide_that_of_another_device(text: bytes, tmp_path: Path) -> None:
    drivers = Asked("first"), sooner(Asked("second"))
    with_cache(tmp_path, *drivers)
    question = Question(doubled(), [*map(Device, drivers), REFERENCE], PrepareOptions(), Cache(tmp_path, TOKEN))
    assert question.cache is not None
    first = question.devices[0]
    prepared = first.driver.prepare(question.model, PrepareOptions())
    question.cache.keep(first, question.model, PrepareOptions(), prepared, plan=text)
    found = recall(question)
    assert isinstance(found, Cached)
    assert found.record.device == "second"
