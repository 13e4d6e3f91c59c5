"""Files of appended lines: an interrupted line is cut off."""

from pathlib import Path

import pytest

from nnapi.store.json_lines import append_line, read_complete_lines, replace_lines
from tests.disk_cases import full_disk


def test_an_interrupted_line_is_cut_off(tmp_path: Path) -> None:
    file = tmp_path / "lines"
    assert read_complete_lines(file) == []
    append_line(file, "one")
    append_line(file, "two")
    file.write_bytes(file.read_bytes() + b"thr")
    lines = read_complete_lines(file)
    assert lines == [b"one\n", b"two\n"]
    replace_lines(file, lines)
    append_line(file, "three")
    assert file.read_text() == "one\ntwo\nthree\n"


def test_equal_lines_are_not_written(tmp_path: Path) -> None:
    file = tmp_path / "lines"
    replace_lines(file, [])
    assert file.read_bytes() == b""
    replace_lines(file, [b"one\n"])
    before = file.stat()
    replace_lines(file, [b"one\n"])
    assert file.stat().st_ino == before.st_ino


def test_a_full_disk_leaves_no_empty_file(tmp_path: Path) -> None:
    with full_disk(), pytest.raises(OSError, match="lines"):
        append_line(tmp_path / "lines", "one")
    assert not (tmp_path / "lines").exists()
