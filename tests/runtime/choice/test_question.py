"""Questions: the processor and the other values of their keys, and the reasons against trials."""

import io
import os
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nnapi import Device, Model, PreferenceCode
from nnapi import OperationCode as Op
from nnapi.contract.driver import DriverDiedError, PrepareOptions, Verdict
from nnapi.drivers.limited import Limited
from nnapi.runtime.choice import question
from nnapi.runtime.choice.predict import list_plans, predict_plan
from nnapi.runtime.choice.preparation import prepare
from nnapi.runtime.choice.question import Question, name_processor
from nnapi.runtime.choice.spare import Spare
from nnapi.runtime.costs import prices
from nnapi.runtime.planning.explain import as_text
from nnapi.runtime.settings import Partitioning
from nnapi.runtime.verdicts.exclusions import exclusions_of
from tests.runtime.device_cases import REFERENCE, Scripted, as_it_is, capabilities, chain

INFO = "processor\t: 0\nmodel name\t: Chip 3: rev 2\nmodel name\t: another\n"


def test_it_says_how_many_cores_may_be_used() -> None:
    name, _, count = name_processor().rpartition(" × ")
    assert name
    assert int(count) == len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("text", "name"), [(INFO, "Chip 3: rev 2 × 3"), ("processor\t: 0\n", "machine × 3"), (None, "machine × 3")]
)
def test_the_name_is_that_of_the_first_processor_else_of_the_machine(
    text: str | None, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def open_info(path: str) -> io.StringIO:
        assert path == "/proc/cpuinfo"
        if text is None:
            raise FileNotFoundError(path)
        return io.StringIO(text)

    monkeypatch.setattr(question, "open", open_info, raising=False)
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(machine="machine"))
    monkeypatch.setattr(os, "sched_getaffinity", {0: {0, 1, 5}}.__getitem__)
    assert name_processor.__wrapped__() == name


def scripted(name: str = "chip", version: str = "1", **attributes: object) -> Device:
    driver = Scripted(as_it_is, name)
    driver.info = driver.info._replace(version=version)
    for each, value in attributes.items():
        setattr(driver, each, value)
    return Device(driver)


def ask(*devices: Device, **options: Any) -> Question:
    return Question(chain(), devices or (scripted(), REFERENCE), PrepareOptions(**options))


def test_the_key_is_of_all_that_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NNAPI_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(os, "sched_getaffinity", {0: {0, 1}}.__getitem__)
    monkeypatch.setattr(question, "name_processor", lambda: "chip × 2")
    keys = [
        ask().key,
        ask(threads=1).key,
        ask(threads=2).key,
        ask(preference=PreferenceCode.PREFER_SUSTAINED_SPEED).key,
        ask(scripted(version="2"), REFERENCE).key,
        ask(REFERENCE, scripted()).key,
        ask(REFERENCE).key,
        ask().about(chain(2)).key,
    ]
    monkeypatch.setattr(os, "sched_getaffinity", {0: {0, 1, 2}}.__getitem__)
    keys.append(ask().key)
    monkeypatch.setattr(question, "name_processor", lambda: "another × 2")
    keys.append(ask().key)
    excluding, model = scripted("excluding"), chain()
    keys.append(ask(excluding, REFERENCE).key)
    exclusions_of(excluding.driver).add(excluding.driver, model, model.operations[0], "it ran", DriverDiedError("no"))
    keys.append(ask(excluding, REFERENCE).key)
    assert len(set(keys)) == len(keys)
    monkeypatch.undo()
    assert ask().key == ask(scripted(outage=lambda: ""), REFERENCE).key
    assert ask(scripted(outage=lambda: "broken"), REFERENCE).key == ask(REFERENCE).key, "of the usable devices"


def test_the_conditions_of_a_cached_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", {0: {0, 1}}.__getitem__)
    monkeypatch.setenv("NNAPI_TUNING", "0")
    monkeypatch.setattr(question, "describe_costs", lambda: "wide")
    asked = ask(scripted(outage=lambda: "broken"), threads=3)
    assert asked.conditions == [[["chip", "1"]], 3, 2, False, "wide", None]
    monkeypatch.setenv("NNAPI_TUNING", "1")
    assert ask(scripted()).conditions == [[["chip", "1"]], None, 2, True, "wide", None]
    monkeypatch.setenv("NNAPI_WINOGRAD", "0")
    assert ask(scripted()).conditions[-1] == 0


def test_a_setting_of_winograd_convolutions_leaves_no_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NNAPI_TUNING", "1")
    key = ask().key
    monkeypatch.setenv("NNAPI_WINOGRAD", "0")
    assert ask().has_choice
    assert ask().key != key
    monkeypatch.setenv("NNAPI_WINOGRAD", "1")
    assert ask().reason == "Winograd convolutions are set"


class Counting(Limited):
    """Counts requests for verdicts, and takes one operation."""

    def __init__(self, name: str, takes: int) -> None:
        declared = capabilities(0.001)
        super().__init__(REFERENCE.driver, name, lambda _, call: None if call.code == takes else "no", declared)
        self.asked = 0

    def verdicts(self, model: Model) -> Sequence[Verdict]:
        self.asked += 1
        return super().verdicts(model)


def test_a_device_is_asked_once_for_the_plan_its_challengers_and_its_explanation(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NNAPI_TUNING", "1")
    monkeypatch.setenv("NNAPI_CACHE_DIR", str(tmp_path))
    drivers = [Counting("positive", Op.ABS), Counting("negative", Op.NEG)]
    asked = Question(chain(), [*map(Device, drivers)], PrepareOptions())
    ready, _ = prepare(asked, Spare(asked, Partitioning.WITHOUT_FALLBACK))
    assert ready.plan.devices == ("positive", "negative")
    assert list_plans(asked, ready.plan.threads)[0].identity == ready.plan.identity
    assert as_text(ready.plan)
    assert [driver.asked for driver in drivers] == [1, 1]


def test_a_device_is_asked_again_after_an_exclusion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NNAPI_CACHE_DIR", str(tmp_path))
    device, model = scripted("newly excluding"), chain(2)
    asked = ask(device, REFERENCE).about(model)

    def plan() -> tuple[str, ...]:
        return predict_plan(asked, []).plan.devices

    assert plan() == (device.name,)
    exclusions_of(device.driver).add(device.driver, model, model.operations[0], "it ran", DriverDiedError("no"))
    assert plan() == (REFERENCE.name, device.name)


def test_timings_are_looked_up_once_and_only_if_there_is_something_to_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NNAPI_TUNING", "1")
    counts: list[int] = []
    monkeypatch.setattr(prices, "find_tables", lambda devices, count, model: counts.append(count) or {})
    asked, alone = ask(), ask(REFERENCE)
    for threads in (None, 1, 2, None):
        assert asked.tables(threads) == alone.tables(threads) == {}
    assert counts == [1, 2]


def test_a_copy_of_the_model_has_as_many_reasons_against_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NNAPI_TUNING", "0")
    asked = ask()
    assert asked.about(asked.model) is asked
    assert asked.reason == "tuning is off"
    monkeypatch.setenv("NNAPI_TUNING", "1")
    assert asked.about(chain()).reason == "tuning is off", "as when it was compiled"


def test_the_reasons_against_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NNAPI_TUNING", "1")
    assert (ask().reason, ask().has_choice) == ("", True)
    low = ask(preference=PreferenceCode.PREFER_LOW_POWER)
    assert (low.reason, low.has_choice) == ("the plan follows declared power", False)
    assert ask(scripted(is_measured=False)).reason == "a device stands for one elsewhere"
    monkeypatch.setenv("NNAPI_TUNING", "0")
    assert ask().reason == "tuning is off"
