"""`nnapi cache`: what is kept, how large, for which model and device; and making room."""

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nnapi import Device, compile
from nnapi.cli import app
from nnapi.cli.cache import parse_size
from nnapi.errors import Mistake
from nnapi.store.directories import RecordKind
from nnapi.store.records import keep_record, path_of
from tests.runtime.cache_cases import TOKEN, Slow, doubled


def said(*arguments: str | Path) -> str:
    result = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["cache", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Entries of three devices, the first used longest ago, the last one damaged; and a file of somebody else."""
    seen: set[Path] = set()
    for i in range(3):
        compile(doubled(), Device(Slow(f"device-{i}", "1.5")), cache=(tmp_path, TOKEN))
        (file,) = set(tmp_path.iterdir()) - seen
        seen.add(file)
        if i == 2:
            file.write_bytes(b"damaged")
        os.utime(file, (1_600_000_000 + 100_000 * i,) * 2)
    (tmp_path / "notes.txt").touch()
    return tmp_path


def test_the_list_in_words(directory: Path) -> None:
    head, *rows, total = said("list", directory).splitlines()
    assert head.split() == ["used", "size", "holds", "model", "device", "version", "file"]
    assert [row.split()[4:7] for row in rows[:2]] == [["compilations", "doubled", f"device-{i}"] for i in range(2)]
    assert rows[0].startswith("2020-09-1")
    assert "(damaged)" in rows[2]
    assert total.startswith("3 entries, ")


def test_the_list_as_json(directory: Path) -> None:
    found = json.loads(said("list", directory, "--json"))["entries"]
    assert [entry["device"] for entry in found] == ["device-0", "device-1", None]
    assert [entry["used"] for entry in found] == [1_600_000_000, 1_600_100_000, 1_600_200_000]
    assert found[0]["bytes"] == Path(found[0]["file"]).stat().st_size
    assert (found[0]["model"], found[0]["version"]) == ("doubled", "1.5")


def test_an_empty_list(tmp_path: Path) -> None:
    assert said("list", tmp_path) == "0 entries, 0 B\n"


def test_pruning_removes_what_is_damaged(directory: Path) -> None:
    assert said("prune", directory).startswith("removed 1 entry, 7 B; 2 entries, ")


def test_pruning_to_a_size(directory: Path) -> None:
    kept = json.loads(said("list", directory, "--json"))["entries"][1]
    answer = json.loads(said("prune", directory, "--limit", str(kept["bytes"]), "--json"))
    assert [entry["device"] for entry in answer["removed"]] == [None, "device-0"]
    assert answer["left"] == [kept]
    assert said("prune", directory, "--limit", "0").endswith("0 entries, 0 B left\n")
    assert [path.name for path in directory.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize(
    ("text", "count"),
    [("0", 0), ("17", 17), ("500MB", 500_000_000), ("1.5 gb", 1_500_000_000), ("2k", 2000), ("2KiB", 2048)],
)
def test_sizes(text: str, count: int) -> None:
    assert parse_size(text) == count


@pytest.mark.parametrize("text", ["", "MB", "-1", "1 TB", "many"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(Mistake, match="is not a size"):
        parse_size(text)


def test_mistakes_are_one_line(tmp_path: Path) -> None:
    for arguments in (["list", tmp_path / "missing"], ["prune", tmp_path, "--limit", "much"]):
        result = CliRunner().invoke(app, ["cache", *map(str, arguments)])
        assert result.exit_code == 2
        assert result.stderr.count("\n") == 1


@pytest.fixture
def default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A default directory with something of every kind, the plans damaged."""
    monkeypatch.setenv("NNAPI_CACHE_DIR", str(tmp_path))
    for i, kind in enumerate(RecordKind):
        keep_record(kind, "key", {"value": 1}, model=f"model-{i}", device=f"device-{i}", version="2")
    Path(path_of(RecordKind.PLANS, "key")).write_bytes(b"damaged")
    compile(doubled(), Device(Slow()), cache=(tmp_path, TOKEN))
    return tmp_path


def test_without_an_argument_everything_is_listed_that_is_kept_by_default(default: Path) -> None:
    assert said() == said("list")
    place, head, plans, exclusions, models, probes, prepared, compilation, total = said().splitlines()
    assert place == str(default)
    assert head.split() == ["used", "size", "holds", "model", "device", "version", "file"]
    assert plans.split()[4:6] == ["plans", "(damaged)"]
    assert models.split()[4:8] == ["models", "model-1", "device-1", "2"]
    assert exclusions.split()[4:8] == ["exclusions", "model-2", "device-2", "2"]
    assert probes.split()[4:8] == ["probes", "model-4", "device-4", "2"]
    assert prepared.split()[4:8] == ["prepared", "model-3", "device-3", "2"]
    assert compilation.split()[4:8] == ["compilations", "doubled", "slow", "1"]
    assert total.startswith("6 entries, ")
    found = json.loads(said("list", "--json"))["entries"]
    assert [each["holds"] for each in found] == [
        "plans",
        "exclusions",
        "models",
        "probes",
        "prepared",
        "compilations",
    ]
    assert [each["model"] for each in found] == [None, "model-2", "model-1", "model-4", "model-3", "doubled"]
    assert all(os.path.getsize(each["file"]) == each["bytes"] for each in found)


def test_without_a_directory_everything_is_pruned_that_is_kept_by_default(default: Path) -> None:
    assert said("prune").startswith("removed 1 entry, 7 B; 5 entries, ")
    assert said("prune", "--limit", "0").endswith("0 entries, 0 B left\n")
    assert [path for path in default.rglob("*") if path.is_file()] == []


def test_where_nothing_is_kept_nothing_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NNAPI_CACHE_DIR", str(tmp_path / "none"))
    assert said() == f"{tmp_path / 'none'}\n0 entries, 0 B\n"
    assert json.loads(said("list", "--json"))["entries"] == []
