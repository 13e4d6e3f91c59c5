"""The figures that drivers go by: measured once on a machine, and kept."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from nnapi import Device, device, settings
from nnapi.drivers.base import FindFigures
from nnapi.drivers.limited import Limited
from nnapi.runtime.costs import figures
from nnapi.store.directories import RecordKind, directory_of
from nnapi.store.entry import list_entries


class Measuring(Limited):
    """The reference, which says that it goes by a figure."""

    def __init__(self, value: float = 0.5, version: str = "1") -> None:
        super().__init__(device("nnapi-reference").driver, "measuring", version=version)
        self.value, self.count = value, 0

    def measure_figures(self) -> Mapping[str, Any]:
        self.count += 1
        return {"value": self.value}

    def take_figures(self, find: FindFigures) -> None:
        self.find = find


@pytest.fixture(autouse=True)
def nothing_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NNAPI_CACHE_DIR", str(tmp_path))


def make(**how: Any) -> Measuring:
    driver = Measuring(**how)
    Device(driver)  # which tells it where to ask
    return driver


def test_nothing_is_measured_where_plans_are_not_compared() -> None:
    driver = make()
    assert driver.find() is None
    assert driver.count == 0


def test_they_are_measured_once_for_all_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = make(), make(value=0.75)
    with settings(tuning=True):
        assert first.find() == second.find() == {"value": 0.5}
        monkeypatch.setattr(figures, "_found", {})  # as in another process
        assert second.find() == {"value": 0.5}
    assert (first.count, second.count) == (1, 0)
    (entry,) = list_entries(directory_of(RecordKind.COSTS))
    assert entry.label.device == "measuring"


def test_another_version_of_the_engine_is_measured_anew() -> None:
    with settings(tuning=True):
        assert make().find() == {"value": 0.5}
        assert make(value=0.75, version="2").find() == {"value": 0.75}


def test_others_have_none() -> None:
    with settings(tuning=True):
        assert figures.find_figures(device("nnapi-reference").driver) is None
