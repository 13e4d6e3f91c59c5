"""Records: kept under keys, validated like every entry, and never more of them than there is room for."""

import os
import stat
from pathlib import Path

import pytest

from nnapi.store import records
from nnapi.store.directories import RecordKind
from nnapi.store.entry import list_entries, read_entry
from nnapi.store.records import keep_record, path_of, recall_record

KIND = RecordKind.PLANS


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NNAPI_CACHE_DIR", str(tmp_path / "deep"))
    return tmp_path / "deep" / KIND


def test_directories_are_private(directory: Path) -> None:
    keep_record(KIND, "one", {"value": 1})
    assert [stat.S_IMODE(os.stat(each).st_mode) for each in (directory.parent, directory)] == [0o700, 0o700]


def test_entries_that_others_can_write_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    """As an engine reads what is in them without checking it."""
    keep_record(KIND, "one", {"value": 1})
    path = path_of(KIND, "one")
    for mode, found in [(0o644, 1), (0o620, None), (0o602, None), (0o600, 1)]:
        os.chmod(path, mode)
        assert recalled("one") == found
        content = read_entry(path)
        assert (content is None) is (found is None)
    user = os.stat(path).st_uid
    monkeypatch.setattr("os.geteuid", lambda: user + 1)
    assert recalled("one") == (1 if user == 0 else None), "root may write to everything anyway"
    real = os.fstat
    monkeypatch.setattr("os.fstat", lambda file: _owned_by(real(file), user + 2))
    assert recalled("one") is None
    assert read_entry(path) is None


def _owned_by(stat: os.stat_result, user: int) -> os.stat_result:
    return os.stat_result((*stat[:4], user, *stat[5:10]))


def recalled(key: str) -> object:
    return recall_record(KIND, key, lambda data: data["value"])


def test_what_was_kept_is_recalled_by_its_key_and_kind() -> None:
    keep_record(KIND, "one", {"value": [1, 2.5, None]})
    keep_record(KIND, "two", {"value": "two"})
    assert (recalled("one"), recalled("two"), recalled("three")) == ([1, 2.5, None], "two", None)
    assert recall_record(RecordKind.PROBES, "one", lambda data: data) is None
    keep_record(KIND, "one", {"value": "another"})
    assert recalled("one") == "another"


def test_an_entry_says_what_it_is_of(directory: Path) -> None:
    keep_record(KIND, "one", 1, model="mobilenet", device="chip", version="2")
    (entry,) = list_entries(directory)
    assert entry.label is not None
    assert entry.label[:3] == ("mobilenet", "chip", "2")


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b'{"value": 1}', bytes(100)])
def test_what_is_no_record_counts_as_nothing_and_is_written_anew(content: bytes) -> None:
    keep_record(KIND, "one", {"value": 1})
    Path(path_of(KIND, "one")).write_bytes(content)
    assert recalled("one") is None
    keep_record(KIND, "one", {"value": 1})
    assert recalled("one") == 1


def test_another_s_record_under_this_name_counts_as_nothing() -> None:
    keep_record(KIND, "two", {"value": 1})
    os.replace(path_of(KIND, "two"), path_of(KIND, "one"))
    assert recalled("one") is None


@pytest.mark.parametrize("value", [{}, [], 3, None, {"value": "no number"}])
def test_what_cannot_be_parsed_counts_as_nothing(value: object) -> None:
    keep_record(KIND, "one", value)
    assert recall_record(KIND, "one", lambda data: float(data["value"])) is None


def test_what_was_used_longest_ago_gives_way(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        keep_record(KIND, str(number), {"value": 1})
        os.utime(path_of(KIND, str(number)), (number, number))
    assert recalled("0") == 1  # used just now
    size = os.path.getsize(path_of(KIND, "0"))
    monkeypatch.setattr(records, "LIMIT", 3 * size + 40)  # the moment of making is written with more or fewer digits
    keep_record(KIND, "new", {"value": 1})
    assert [recalled(key) for key in ("0", "1", "2", "3", "new")] == [1, None, None, 1, 1]


def test_a_directory_that_cannot_be_written_harms_nobody(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "deep").write_text("")
    caplog.set_level("INFO")
    keep_record(KIND, "one", {"value": 1})
    assert recalled("one") is None
    assert "cannot write a record of" in caplog.text
