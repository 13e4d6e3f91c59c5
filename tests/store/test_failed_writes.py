"""Errors of writes to a cache, for calls whose purpose it is."""

import os
from pathlib import Path

import pytest

from nnapi.store.directories import RecordKind
from nnapi.store.failed_writes import note_failed_write, noting_failed_writes
from nnapi.store.files import replace_file
from nnapi.store.records import keep_record


def test_they_are_noted_in_each_open_block() -> None:
    error = OSError("full")
    with noting_failed_writes() as outer:
        with noting_failed_writes() as inner:
            note_failed_write(error)
        note_failed_write(error)
    note_failed_write(error)
    assert (inner, outer) == ([error], [error, error])


def test_a_record_that_cannot_be_written_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NNAPI_CACHE_DIR", "/dev/null/cache")
    with noting_failed_writes() as found:
        keep_record(RecordKind.PLANS, "key", {})
    assert [type(each) for each in found] == [NotADirectoryError]


def test_a_full_disk_names_the_file(tmp_path: Path) -> None:
    """The error of a write names no file, unlike that of opening one."""
    with pytest.raises(OSError, match="No space left") as caught, replace_file(tmp_path / "plan"):
        os.write(os.open("/dev/full", os.O_WRONLY), b"x")
    assert caught.value.filename == str(tmp_path / "plan")
    assert list(tmp_path.iterdir()) == []
