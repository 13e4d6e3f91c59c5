"""NNAPI_TRACE: what a whole process does, as a file."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nnapi.trace.parse import parse_file

WORK = """
import os, nnapi
from nnapi import trace
assert trace.is_enabled() == {traced}
with trace.section("[NN_LA_PO]work"), trace.section("[NN_LA_PP]describe"):
    builder = nnapi.Builder()
    builder.output(builder.relu(builder.input(nnapi.tensor("float32", (2,)))))
    builder.finish()
"""


def ran(name: Path, more: str = "", *, traced: bool = True, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"NNAPI_TRACE": str(name)} | variables
    command = [sys.executable, "-c", WORK.format(traced=traced) + more]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=True)


@pytest.mark.parametrize("suffix", ["html", "json", "txt"])
def test_written_at_the_end(suffix: str, tmp_path: Path) -> None:
    file = tmp_path / f"trace.{suffix}"
    assert ran(file).stderr == ""
    (run,) = parse_file(file).runs
    assert run.mark.endswith("[NN_LA_PO]work")
    assert run.is_complete


@pytest.mark.slow
def test_each_process_may_have_its_own(tmp_path: Path) -> None:
    fork = "\nif not os.fork():\n    with trace.section('[NN_LA_PO]child'): pass\nelse: os.wait()"
    ran(tmp_path / "trace-%p.json", fork)
    marks = {run.mark.rpartition("]")[2] for file in tmp_path.iterdir() for run in parse_file(file).runs}
    assert marks == {"work", "child"}


@pytest.mark.slow
def test_children_do_not_overwrite_it(tmp_path: Path) -> None:
    ran(tmp_path / "trace.json", "\nif os.fork(): os.wait()")
    (run,) = parse_file(tmp_path / "trace.json").runs
    assert run.mark.endswith("[NN_LA_PO]work")


@pytest.mark.slow
def test_a_mistake_is_told_and_harms_nothing(tmp_path: Path) -> None:
    said = ran(tmp_path / "trace.pdf", traced=False).stderr
    assert said == "nnapi: NNAPI_TRACE: trace.pdf must end in .html, .json, .txt\n"
    assert ran(tmp_path / "trace.pdf", traced=False, NNAPI_QUIET="1").stderr == ""
    assert "not written" in ran(tmp_path / "no" / "trace.json").stderr
