"""Files of a cache that another program has put there: each is ignored, at once."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from nnapi.model.memory import Memory
from nnapi.store.digest import name_of_key
from nnapi.store.entry import MAGIC, TAIL, Content, Label, list_entries, prune, read_entry, write_entry

NAME = name_of_key(bytes(32))
LABEL = Label("model", "device", "1", 1.5)
READERS = pytest.mark.parametrize("open_mapped", [None, Memory.from_file], ids=["read", "mapped"])


def with_header(path: Path, header: bytes, length: int | None = None) -> None:
    path.write_bytes(header + TAIL.pack(len(header) if length is None else length, MAGIC))
    path.chmod(0o600)


def header_of(path: Path) -> dict[str, object]:
    """The header of a valid entry, without a payload."""
    write_entry(path, LABEL, Content("purpose", b"", b""))
    found: dict[str, object] = json.loads(path.read_bytes()[: -TAIL.size])
    path.unlink()
    return found


def make_foreign(path: Path) -> None:
    write_entry(path, LABEL, Content("purpose", b"", b"payload"))
    path.chmod(0o666)


OTHERS: dict[str, Callable[[Path], None]] = {
    "FIFO": os.mkfifo,
    "link to a FIFO": lambda path: (os.mkfifo(f"{path}.fifo"), path.symlink_to(f"{path}.fifo"))[1],
    "endless": lambda path: path.symlink_to("/dev/zero"),
    "broken link": lambda path: path.symlink_to("nothing"),
    "folder": lambda path: path.mkdir(),
    "empty": lambda path: path.touch(0o600),
    "writable by others": make_foreign,
    "nested": lambda path: with_header(path, b"[" * 200_000),
    "long header": lambda path: with_header(path, b" " * ((1 << 20) + 1 - 2) + b"{}"),
    "header beyond the file": lambda path: with_header(path, b"{}", 3),
    "list": lambda path: with_header(path, b"[]"),
    "nested name": lambda path: with_header(path, json.dumps({**header_of(path), "name": [[]]}).encode()),
    "no digest": lambda path: with_header(path, json.dumps({**header_of(path), "digest": None}).encode()),
    "negative plan": lambda path: with_header(path, json.dumps({**header_of(path), "plan": -1}).encode()),
}


@READERS
@pytest.mark.parametrize("make", OTHERS.values(), ids=OTHERS)
def test_what_is_not_an_entry_is_ignored(
    tmp_path: Path, make: Callable[[Path], None], open_mapped: Callable[[object], Memory] | None
) -> None:
    path = tmp_path / NAME
    make(path)
    assert read_entry(path, open_mapped) is None
    (found,) = list_entries(tmp_path)
    assert found.label is None
    if not path.is_dir():
        assert [each.path for each in prune(tmp_path, 1 << 40)] == [str(path)], "it is removed as damaged"
        assert not path.is_symlink()
        assert not path.exists()


@pytest.mark.parametrize(
    "label",
    [
        None,
        "text",
        [],
        {},
        {"model": 1, "device": "d", "version": "1", "created": 1.5},
        {**LABEL._asdict(), "created": ""},
    ],
)
def test_a_label_that_is_not_one(tmp_path: Path, label: object) -> None:
    with_header(tmp_path / NAME, json.dumps({**header_of(tmp_path / NAME), "label": label}).encode())
    assert [each.label for each in list_entries(tmp_path)] == [None]


def test_a_file_that_is_read_is_bounded(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A larger one can be mapped."""
    path = tmp_path / NAME
    write_entry(path, LABEL, Content("purpose", b"", b"payload"))
    with path.open("r+b") as file:
        content = file.read()
        file.seek(0)
        file.truncate(0)
        file.seek((64 << 20) + 1 - len(content))
        file.write(content)
    assert read_entry(path) is None
    assert "it has 67108865 bytes, at most 67108864 are possible" in caplog.text


@READERS
def test_an_entry_with_long_names_is_read(tmp_path: Path, open_mapped: Callable[[object], Memory] | None) -> None:
    """Its label is cut, so that its header is not too long."""
    path = tmp_path / NAME
    write_entry(path, Label("m" * 5_000_000, "d" * 2000, "1", 1.5), Content("purpose", b"plan", b"payload"))
    found = read_entry(path, open_mapped)
    assert found is not None
    assert (found.purpose, found.plan, bytes(found.payload)) == ("purpose", b"plan", b"payload")
    assert [each.label for each in list_entries(tmp_path)] == [Label("m" * 1000, "d" * 1000, "1", 1.5)]


def test_a_foreign_file_is_not_mapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its owner could cut it off, which would end this process."""
    make_foreign(tmp_path / NAME)
    monkeypatch.setattr("mmap.mmap", lambda *_, **__: pytest.fail("it is mapped"))
    assert [each.label for each in list_entries(tmp_path)] == [None]

    def open_mapped(path: object) -> Memory:
        memory = Memory.from_file(path)  # type: ignore[arg-type]
        monkeypatch.setattr(memory, "view", lambda: pytest.fail("it is mapped"))
        return memory

    assert read_entry(tmp_path / NAME, open_mapped) is None
