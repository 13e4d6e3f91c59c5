"""Instruction sets read from a processor's description."""

import io
from typing import Any

import pytest

from nnapi.host import instruction_sets
from nnapi.host.instruction_sets import find_instruction_sets, read_line


@pytest.fixture(autouse=True)
def nothing_is_remembered() -> Any:
    find_instruction_sets.cache_clear()
    yield
    find_instruction_sets.cache_clear()


@pytest.mark.parametrize("name", ["flags\t\t", "Features\t"])
def test_the_first_processor_counts(name: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "cpuinfo"
    path.write_text(f"processor\t: 0\n{name}: first other\n\nprocessor\t: 1\n{name}: second\n")
    monkeypatch.setattr(instruction_sets, "open", lambda _: path.open(), raising=False)
    assert find_instruction_sets() == {"first", "other"}


def test_where_the_system_does_not_tell_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: str) -> Any:
        raise FileNotFoundError

    monkeypatch.setattr(instruction_sets, "open", refuse, raising=False)
    assert find_instruction_sets() == frozenset()


def test_a_line_is_words_behind_a_colon() -> None:
    assert read_line("flags\t\t: fpu avx_vnni\n") == {"fpu", "avx_vnni"}
    assert read_line("flags") == frozenset()


def test_the_description_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []

    def count(path: str) -> Any:
        opened.append(path)
        return io.StringIO("flags : avx2\n")

    monkeypatch.setattr(instruction_sets, "open", count, raising=False)
    assert find_instruction_sets() == find_instruction_sets() == {"avx2"}
    assert opened == ["/proc/cpuinfo"]
