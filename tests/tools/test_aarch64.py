"""How `make aarch64` judges what the emulated `nnapi check` leaves behind."""

import json
import sys
from pathlib import Path

import pytest

from tools import aarch64

EMULATOR = """
import pathlib, sys
print("1 of 2: relu", file=sys.stderr)
text = {text!r}
if text:
    pathlib.Path(sys.argv[sys.argv.index("--output") + 1]).write_text(text)
"""


def emulated(folder: Path, *, passed: int = 0, failures: tuple[str, ...] = (), ends: bool = True) -> aarch64.Emulated:
    """A machine on which every program is an `nnapi check` that finds this, or ends before it has found anything."""
    plain = {"passed": passed, "skipped": 1, "failed": len(failures)}
    failed = [{"name": name, "reason": "output 0 is 2, expected 2.5"} for name in failures]
    text = json.dumps({"variants": {"plain": plain}, "failures": failed}) if ends else ""
    (folder / "emulator.py").write_text(EMULATOR.format(text=text))
    there = aarch64.Emulated(folder)
    there.qemu = [sys.executable, str(folder / "emulator.py")]
    return there


def test_examples_that_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert aarch64.examples(emulated(tmp_path, passed=2), "xnnpack-cpu", [])
    assert capsys.readouterr().out.endswith("xnnpack-cpu: 2 passed, 1 refused, 0 failed\n")
    assert (tmp_path / "xnnpack-cpu.txt").read_text() == "1 of 2: relu\n"


def test_examples_that_fail_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert not aarch64.examples(emulated(tmp_path, passed=2, failures=("add",)), "xnnpack-cpu", [])
    assert capsys.readouterr().out.endswith("1 failed\n  add: output 0 is 2, expected 2.5\n")


def test_nothing_that_passed_is_a_failure(tmp_path: Path) -> None:
    assert not aarch64.examples(emulated(tmp_path), "xnnpack-cpu", [])


def test_a_check_that_dies_is_a_failure_whatever_an_earlier_one_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert aarch64.examples(emulated(tmp_path, passed=2), "xnnpack-cpu", [])
    assert not aarch64.examples(emulated(tmp_path, ends=False), "xnnpack-cpu", [])
    assert capsys.readouterr().out.endswith("xnnpack-cpu: exit code 0: 1 of 2: relu\n")
