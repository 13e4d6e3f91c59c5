"""Journals: files that record the results of a run as they come, so that an interrupted run can be resumed."""

import json
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nnapi.errors import UnusableFile
from nnapi.store.json_lines import append_line, read_complete_lines, replace_lines
from nnapi.testing.suite.result import Result, describe_result, result_from


class Journal:
    """A file with a line that describes the run, and a line of JSON for each example with its results.

    The run's description names its devices, examples and options. Raises UnusableFile for a journal of another run.
    """

    def __init__(self, file: Path, run: Mapping[str, Any]) -> None:
        self._file, self._lock = file, threading.Lock()
        lines = read_complete_lines(file)
        self._results = _read(file, lines[1:])
        before, now = read_run(file), json.loads(json.dumps(run))
        if before not in (None, now):
            others = (f"{name} {before.get(name)}" for name in now if before.get(name) != now[name])
            raise UnusableFile(f"{file} cannot be resumed: it is a run with {', '.join(others)}")
        replace_lines(file, lines or [json.dumps({"run": now}).encode() + b"\n"])

    def find(self, example: str) -> Sequence[Result] | None:
        """Return the recorded results of an example; None if it has not run."""
        return self._results.get(example)

    def add(self, example: str, results: Sequence[Result]) -> None:
        """Record the results of all variants of an example; any thread may call this."""
        line = json.dumps({"example": example, "results": list(map(describe_result, results))})
        with self._lock:
            append_line(self._file, line)


def read_run(file: Path) -> Any:
    """Return the run that a journal describes; None if the journal is absent or empty."""
    for line in read_complete_lines(file)[:1]:
        try:
            return dict(json.loads(line)["run"])
        except (ValueError, TypeError, KeyError, RecursionError):
            raise UnusableFile(f"{file} cannot be resumed: it was not written by --resume") from None
    return None


def _read(file: Path, lines: Sequence[bytes]) -> dict[str, Sequence[Result]]:
    found: dict[str, Sequence[Result]] = {}
    for number, line in enumerate(lines, 2):
        try:
            described = json.loads(line)
            found[str(described["example"])] = list(map(result_from, described["results"]))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise UnusableFile(f"{file} cannot be resumed: line {number} was not written by --resume") from None
    return found
