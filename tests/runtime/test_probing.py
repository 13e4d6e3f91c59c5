"""Drivers that look for hardware first: they are asked once, and the answer is kept."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks.null_device import Null
from nnapi import compile
from nnapi.errors import UnavailableDeviceError
from nnapi.runtime.device import RETRY, make_drivers
from tests.runtime.device_cases import REFERENCE, chain, limited


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NNAPI_CACHE_DIR", str(tmp_path))


class Search:
    """Finds what it is told to find, and counts how often it was asked."""

    def __init__(self, found: str = "chip", key: str = "one") -> None:
        self.found, self.key, self.asked = found, key, 0

    def identify(self) -> str:
        return self.key

    def ask(self) -> Any:
        self.asked += 1
        if not self.found:
            raise UnavailableDeviceError("there is none")
        return [self.found, self.asked]

    def make(self, answer: Any) -> Any:
        return answer


def test_the_answer_is_kept_for_what_it_depends_on() -> None:
    search = Search()
    assert make_drivers(search) == ["chip", 1]
    assert make_drivers(search) == ["chip", 1]
    search.key = "two"
    assert make_drivers(search) == ["chip", 2]


def test_what_was_not_found_is_kept_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    search, now = Search(found=""), [1000.0]
    monkeypatch.setattr("nnapi.runtime.device.time.time", lambda: now[0])
    for _ in range(2):
        with pytest.raises(UnavailableDeviceError, match="there is none"):
            make_drivers(search)
    assert search.asked == 1
    now[0] += RETRY + 1
    search.found = "chip"
    assert make_drivers(search) == ["chip", 2]


def test_others_are_made_as_they_are() -> None:
    driver = Null()
    assert make_drivers(driver) is driver
    assert isinstance(make_drivers(Null), Null)
    assert make_drivers(lambda: [driver]) == [driver]


def test_a_device_that_is_there_by_name_is_chosen_by_who_names_it_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    emulated = limited("emulated")
    monkeypatch.setattr("nnapi.runtime.device.devices", lambda: [emulated, REFERENCE])
    assert set(compile(chain()).plan.devices) == {"emulated"}
    monkeypatch.setattr(type(emulated.driver), "is_by_name", True, raising=False)
    assert emulated.is_by_name
    assert set(compile(chain()).plan.devices) == {"nnapi-reference"}
    assert set(compile(chain(), emulated).plan.devices) == {"emulated"}
