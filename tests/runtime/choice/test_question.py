"""Questions: the processor and the other values of their keys, and the reasons against trials."""

import io
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nnapi import Device, PreferenceCode
from nnapi.contract.driver import DriverDiedError, PrepareOptions
from nnapi.runtime.choice import question
from nnapi.runtime.choice.question import Question, name_processor
from nnapi.runtime.verdicts.exclusions import exclusions_of
from tests.runtime.device_cases import REFERENCE, Scripted, as_it_is, chain

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
        ask()._replace(model=chain(2)).key,
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
    assert ask(scripted(outage=lambda: "broken"), threads=3).conditions == [[["chip", "1"]], 3, 2, False]
    monkeypatch.setenv("NNAPI_TUNING", "1")
    assert ask(scripted()).conditions == [[["chip", "1"]], None, 2, True]


def test_the_reasons_against_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NNAPI_TUNING", "1")
    assert (ask().find_reason(), ask().has_choice) == ("", True)
    low = ask(preference=PreferenceCode.PREFER_LOW_POWER)
    assert (low.find_reason(), low.has_choice) == ("the plan follows declared power", False)
    assert ask(scripted(is_measured=False)).find_reason() == "a device stands for one elsewhere"
    monkeypatch.setenv("NNAPI_TUNING", "0")
    assert ask().find_reason() == "tuning is off"
