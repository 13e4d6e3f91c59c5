"""Files that are replaced whole: also where the disk is full, the writer fails, or was killed."""

import os
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from nnapi import Device, compile
from nnapi.importers import import_cache
from nnapi.importers.source_files import Identity
from nnapi.store.directories import RecordKind
from nnapi.store.files import (
    ABANDONED,
    UNFINISHED,
    make_directory,
    open_regular,
    output_file,
    read_bounded,
    remove_abandoned,
    remove_unfinished,
    replace_file,
    write_text,
)
from nnapi.store.records import keep_record
from tests.disk_cases import full_disk
from tests.runtime.cache_cases import TOKEN, Slow, doubled
from tests.waiting import count_descriptors


def outcomes(path: Path) -> None:
    keep_record(RecordKind.PLANS, "key", {"plan": 1.0})


def origins(path: Path) -> None:
    file = Identity(1, 2, 3, 4, 5)
    model = doubled()
    import_cache.Origin(file, path).keep(model)


def cached(path: Path) -> None:
    assert compile(doubled(), Device(Slow()), cache=(path.parent, TOKEN)).run(np.array([1, 2], np.float32))[
        0
    ].tolist() == [2, 4]


@pytest.mark.parametrize("keep", [outcomes, origins, cached])
def test_a_full_disk_leaves_nothing(
    keep: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NNAPI_CACHE_DIR", str(tmp_path))
    with full_disk():
        keep(tmp_path / "kept.json")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_full_disk_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    path.touch()
    before = path.stat()
    with full_disk(), pytest.raises(OSError, match="too large"), replace_file(path) as file:
        file.write(b"new")
    assert list(tmp_path.iterdir()) == [path]
    assert path.stat().st_ino == before.st_ino


def test_a_writer_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    path.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt), replace_file(path):
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == b"old"


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    for path, kind in ((tmp_path / "none" / "kept", FileNotFoundError), (tmp_path, IsADirectoryError)):
        with pytest.raises(kind) as caught, replace_file(path):
            pass
        assert (caught.value.filename, caught.value.filename2) == (str(path), None)
    assert list(tmp_path.iterdir()) == []


def test_what_is_written_takes_its_place_whole(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    path.write_bytes(b"old")
    with replace_file(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"new", 0o600)
    path.unlink()
    with output_file(path):
        pass
    umask = os.umask(0)
    os.umask(umask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~umask
    assert list(tmp_path.iterdir()) == [path]


def test_what_killed_writers_left_goes_after_a_while(tmp_path: Path) -> None:
    abandoned, fresh, other = (tmp_path / name for name in (UNFINISHED + "1", UNFINISHED + "2", "other"))
    for path in (abandoned, fresh, other):
        path.touch()
    for path in (abandoned, other):
        os.utime(path, (time.time() - 2 * ABANDONED,) * 2)
    remove_abandoned(tmp_path)
    assert {*tmp_path.iterdir()} == {fresh, other}
    os.utime(fresh, (time.time() - 2 * ABANDONED,) * 2)
    compile(doubled(), Device(Slow()), cache=(tmp_path, TOKEN))
    assert not fresh.exists()


def test_a_directory_is_made_with_its_parents_and_kept_as_it_is(tmp_path: Path) -> None:
    made = tmp_path / "a" / "b"
    make_directory(made)
    assert [path.stat().st_mode & 0o777 for path in (made.parent, made)] == [0o700, 0o700]
    made.chmod(0o755)
    make_directory(made)
    assert made.stat().st_mode & 0o777 == 0o755
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError):
        make_directory(tmp_path / "file")
    with pytest.raises(NotADirectoryError):
        make_directory(tmp_path / "file" / "inside")


def test_a_file_is_read_up_to_a_size(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    before = count_descriptors()
    assert read_bounded(path, 5) == b"12345"
    with pytest.raises(OSError, match="it has 5 bytes, at most 4 are possible") as caught:
        read_bounded(path, 4)
    assert caught.value.filename == str(path)
    assert count_descriptors() == before


@pytest.mark.parametrize("kind", ["FIFO", "device", "socket", "folder"])
def test_only_regular_files_are_opened(tmp_path: Path, kind: str) -> None:
    """A FIFO without a writer would be waited for."""
    path = tmp_path / "file"
    with socket.socket(socket.AF_UNIX) as listener:
        if kind == "FIFO":
            os.mkfifo(path)
        elif kind == "folder":
            path.mkdir()
        elif kind == "socket":
            listener.bind(str(path))
        else:
            path = Path("/dev/zero")
        before = count_descriptors()
        with pytest.raises(OSError, match="regular file|Is a directory|No such device"):
            open_regular(path)
        assert count_descriptors() == before


def test_a_file_of_the_user_is_replaced_and_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o640)
    before = path.stat().st_ino
    with full_disk(), pytest.raises(OSError, match="too large") as caught:
        write_text(path, "new")
    assert (caught.value.filename, path.read_bytes()) == (str(path), b"old")
    write_text(path, "new\udcff")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"new?", 0o640)
    assert path.stat().st_ino != before
    assert list(tmp_path.iterdir()) == [path]


def test_links_and_devices_are_written_not_replaced(tmp_path: Path) -> None:
    file, link, device = tmp_path / "file", tmp_path / "link", tmp_path / "device"
    link.symlink_to("file")
    write_text(link, "new")
    assert link.is_symlink()
    assert file.read_bytes() == b"new"
    device.symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left") as caught:
        write_text(device, "new")
    assert caught.value.filename == str(device)
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_text(tmp_path / "pipe", "new")
    assert os.read(reader, 9) == b"new"
    os.close(reader)


def test_unfinished_files_are_removed_before_a_process_ends(tmp_path: Path) -> None:
    with suppress(FileNotFoundError), output_file(tmp_path / "file") as file:
        file.write(b"new")
        remove_unfinished()
        assert list(tmp_path.iterdir()) == []
    assert list(tmp_path.iterdir()) == []
