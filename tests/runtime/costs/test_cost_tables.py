"""The file of measured costs."""

import json
from pathlib import Path

import pytest

from nnapi import Device
from nnapi.runtime.costs.cost_tables import Cost, Costs, Table, default_directory, known_costs
from nnapi.runtime.costs.workload import Element, Kind
from tests.runtime.cost_cases import Clock, exact

CLASS = Kind.DEPTHWISE, Element.SIGNED
TABLE = Table(1e-6, 2e-11, {CLASS: Cost(1e-6, 2e-12, 3e-11), (Kind.OTHER, Element.OTHER): None})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "costs.json"


def some(name: str = "exact", version: str = "1") -> Device:
    return exact(Clock(), name=name, version=version)[0]


def test_a_later_process_finds_what_was_kept(path: Path) -> None:
    Costs(path).keep(some(), 2, TABLE)
    later = Costs(path)
    assert later.table(some(), 2) == TABLE
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("other", [some("other"), some(version="2")])
def test_device_and_version_count(path: Path, other: Device) -> None:
    costs = Costs(path)
    costs.keep(some(), 2, TABLE)
    assert costs.table(other, 2) == Table()


def test_the_number_of_threads_counts(path: Path) -> None:
    costs = Costs(path)
    costs.keep(some(), 2, TABLE)
    assert costs.table(some(), 1) == Table()


def test_what_others_kept_meanwhile_stays(path: Path) -> None:
    first, second = Costs(path), Costs(path)
    first.keep(some("a"), 1, TABLE)
    second.keep(some("b"), 1, TABLE)
    assert [Costs(path).table(some(name), 1) for name in "ab"] == [TABLE, TABLE]


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: b"[]",
        lambda content: content[:-9],
        lambda content: b"\xff" + content,
        lambda content: content.replace(b'"format": ', b'"format": 9'),
        lambda content: content.replace(b"depthwise", b"deepwise"),
        lambda content: content.replace(b"2e-12", b"-2e-12"),
        lambda content: content.replace(b"2e-12", b'"soon"'),
        lambda content: content.replace(b"2e-12", b"NaN"),
        lambda content: content.replace(b", 3e-11", b""),
        lambda content: content.replace(b'"tables"', b'"chairs"'),
    ],
)
def test_damaged_content_counts_as_nothing(path: Path, damage) -> None:  # type: ignore[no-untyped-def]
    Costs(path).keep(some(), 1, TABLE)
    damaged = damage(path.read_bytes())
    assert damaged != path.read_bytes()
    path.write_bytes(damaged)
    costs = Costs(path)
    assert costs.table(some(), 1) == Table()
    costs.keep(some(), 1, TABLE)
    assert json.loads(path.read_text())["tables"]


def test_a_directory_that_cannot_be_written_harms_nobody(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    costs = Costs(tmp_path / "file" / "costs.json")
    costs.keep(some(), 1, TABLE)
    assert costs.table(some(), 1) == TABLE


def test_the_file_is_beside_the_plans_and_read_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NNAPI_CACHE_DIR", str(tmp_path))
    known_costs().keep(some(), 1, TABLE)
    (tmp_path / "costs.json").unlink()
    assert known_costs().table(some(), 1) == TABLE


@pytest.mark.parametrize(
    ("chosen", "users", "place"),
    [("/mine", "/cache", "/mine"), (None, "/cache", "/cache/nnapi"), (None, None, "/home/x/.cache/nnapi")],
)
def test_the_directory_follows_the_environment(
    monkeypatch: pytest.MonkeyPatch, chosen: str | None, users: str | None, place: str
) -> None:
    for name, value in (("NNAPI_CACHE_DIR", chosen), ("XDG_CACHE_HOME", users), ("HOME", "/home/x")):
        monkeypatch.setenv(name, value) if value else monkeypatch.delenv(name, raising=False)
    assert default_directory() == place
