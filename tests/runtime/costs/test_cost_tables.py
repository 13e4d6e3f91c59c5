"""What is kept of measured costs."""

import json
from pathlib import Path

import pytest

from nnapi import Device
from nnapi.runtime.costs.cost_tables import Cost, Costs, Table, name_table, open_costs
from nnapi.runtime.costs.workload import Element, Kind
from nnapi.store.directories import RecordKind, directory_of
from nnapi.store.records import keep_record
from tests.runtime.cost_cases import Clock, exact

CLASS = Kind.DEPTHWISE, Element.SIGNED
TABLE = Table(1e-6, 2e-11, {CLASS: Cost(1e-6, 2e-12, 3e-11), (Kind.OTHER, Element.OTHER): None})


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NNAPI_CACHE_DIR", str(tmp_path / "deep"))
    return Path(directory_of(RecordKind.COSTS))


def some(name: str = "exact", version: str = "1") -> Device:
    return exact(Clock(), name=name, version=version)[0]


def test_a_later_process_finds_what_was_kept(directory: Path) -> None:
    Costs().keep(some(), 2, TABLE)
    assert Costs().table(some(), 2) == TABLE
    assert len(list(directory.iterdir())) == 1


@pytest.mark.parametrize("other", [some("other"), some(version="2")])
def test_device_and_version_count(other: Device) -> None:
    costs = Costs()
    costs.keep(some(), 2, TABLE)
    assert costs.table(other, 2) == Table()


def test_the_number_of_threads_counts() -> None:
    costs = Costs()
    costs.keep(some(), 2, TABLE)
    assert costs.table(some(), 1) == Table()


def test_what_others_kept_meanwhile_stays() -> None:
    first, second = Costs(), Costs()
    first.keep(some("a"), 1, TABLE)
    second.keep(some("b"), 1, TABLE)
    assert [Costs().table(some(name), 1) for name in "ab"] == [TABLE, TABLE]


@pytest.mark.parametrize(
    "change",
    [
        ("depthwise", "deepwise"),
        ("2e-12", "-2e-12"),
        ("2e-12", '"soon"'),
        ("2e-12", "NaN"),
        (", 3e-11", ""),
        (", 0.0, 0.0]", "]"),
        ('"costs"', '"chairs"'),
    ],
)
def test_content_that_is_no_table_counts_as_nothing(change: tuple[str, str]) -> None:
    text = json.dumps(TABLE.as_data())
    damaged = json.loads(text.replace(*change))
    assert json.dumps(damaged) != text
    keep_record(RecordKind.COSTS, name_table(some(), 1), damaged)
    costs = Costs()
    assert costs.table(some(), 1) == Table()
    costs.keep(some(), 1, TABLE)
    assert Costs().table(some(), 1) == TABLE


def test_a_directory_that_cannot_be_written_harms_nobody(tmp_path: Path) -> None:
    (tmp_path / "deep").write_text("")
    costs = Costs()
    costs.keep(some(), 1, TABLE)
    assert costs.table(some(), 1) == TABLE


def test_a_table_is_read_once_in_each_directory(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_costs().keep(some(), 1, TABLE)
    for path in directory.iterdir():
        path.unlink()
    assert open_costs().table(some(), 1) == TABLE
    monkeypatch.setenv("NNAPI_CACHE_DIR", str(tmp_path / "other"))
    assert open_costs().table(some(), 1) == Table()
