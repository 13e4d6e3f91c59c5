"""Run a model on many files, on all cores; with a log, a later call repeats only failed runs."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import nnapi
from nnapi.cli.inputs import FinishedRun, InputValue, input_operands
from nnapi.cli.printing import dump_json
from nnapi.cli.sounds import read_windows
from nnapi.errors import Mistake, NnapiError, UnusableFile
from nnapi.model.operand import Array
from nnapi.runtime.executors.stopwatch import time_call
from nnapi.store.json_lines import append_line, read_complete_lines, replace_lines

Reader = Callable[[Sequence[Path]], list[InputValue]]
UNRUNNABLE = (Mistake, OSError, NnapiError)
QUICK, AGAIN = 0.3, 3
"""If the first run takes less than QUICK seconds, AGAIN more are timed, and the shortest counts."""


def list_files(paths: Sequence[Path]) -> list[Path]:
    """Replace each folder by its pictures, arrays and recordings, sorted by name; Mistake if it has none."""
    files = []
    for path in paths:
        if not path.is_dir():
            files.append(path)
            continue
        from PIL import Image

        known = {*Image.registered_extensions(), ".npy", ".wav"}
        found = sorted(each for each in path.iterdir() if each.suffix.lower() in known and each.is_file())
        if not found:
            raise Mistake(f"{path} has no pictures, .npy or .wav files")
        files += found
    return files


def run_batch(
    compilation: nnapi.Compilation, planned: Sequence[Sequence[Path]], read: Reader
) -> Iterator[FinishedRun | Exception]:
    """Yield each finished run, or its error, in order. The first run is timed alone; the others run concurrently."""
    waiting: deque[list[InputValue] | Exception] = deque()
    if planned:
        yield _run_one(compilation, planned[0], read)

    def feed() -> Iterator[tuple[Array, ...]]:
        for paths in planned[1:]:
            try:
                given = read(paths)
            except UNRUNNABLE as error:
                waiting.append(error)
                continue
            waiting.append(given)
            yield tuple(value.array for value in given)

    results = compilation.run_many(feed()) if planned[1:] else iter(())
    while True:
        finished: list[Array] | Exception | None
        try:
            finished = next(results, None)
        except NnapiError as error:
            finished = error
        while waiting and isinstance(waiting[0], Exception):
            yield waiting.popleft()  # type: ignore[misc]  # it has just been tested for that
        if finished is None:
            return
        given = waiting.popleft()
        yield finished if isinstance(finished, Exception) else FinishedRun(given, finished, None)


def _run_one(compilation: nnapi.Compilation, paths: Sequence[Path], read: Reader) -> FinishedRun | Exception:
    try:
        begun = time.perf_counter()
        given = read(paths)
        start = time.perf_counter()
        arrays = [value.array for value in given]
        outputs = compilation.run(*arrays)
        first = time.perf_counter() - start
        if first >= QUICK:
            return FinishedRun(given, outputs, first, None, start - begun)
        seconds = min(time_call(partial(compilation.run, *arrays)) for _ in range(AGAIN))
    except UNRUNNABLE as error:
        return error
    return FinishedRun(given, outputs, seconds, first, start - begun)


def run_windows(compilation: nnapi.Compilation, files: Sequence[Path], rate: int) -> Iterator[FinishedRun | Exception]:
    """Run each recording, its windows on all cores; ``rate`` is the model's sample rate in Hz, 0 if unknown."""
    (operand,) = input_operands(compilation.model)
    for file in files:
        try:
            windows = read_windows(file, operand.type, rate)
            start = time.perf_counter()
            outputs = list(compilation.run_many(windows.inputs))
        except UNRUNNABLE as error:
            yield error
            continue
        seconds = time.perf_counter() - start
        joined = [np.concatenate([np.atleast_1d(one[i]) for one in outputs]) for i in range(len(outputs[0]))]
        given = [InputValue(windows.inputs[0], file.name, windows.conversion, file)]
        yield FinishedRun(given, joined, seconds, windows=windows)


class RunLog:
    """A file with one line of JSON per run. Successful runs are not repeated. Lines of failed or interrupted runs are
    removed before the first run."""

    def __init__(self, file: Path, model: str) -> None:
        self.file, self.model = file, model
        self._keys: set[tuple[str, ...]] = set()
        self._lines: list[bytes] = []
        self.failed = 0
        self._read()
        self.before = len(self._keys)

    def _read(self) -> None:
        for number, line in enumerate(read_complete_lines(self.file), 1):
            try:
                found = json.loads(line)
                model, files = found["model"], found["files"]
                key = tuple(map(str, files))
            except (ValueError, TypeError, KeyError, RecursionError):
                raise UnusableFile(
                    f"{self.file} cannot be continued: line {number} was not written by --jsonl"
                ) from None
            if model != self.model:
                raise UnusableFile(
                    f"{self.file} cannot be continued: line {number} is a run of {model}, not of {self.model}"
                )
            if "error" in found:
                self.failed += 1
                continue
            self._keys.add(key)
            self._lines.append(line)

    def __contains__(self, paths: object) -> bool:
        return isinstance(paths, list) and _key(paths) in self._keys

    def clean(self) -> None:
        replace_lines(self.file, self._lines)

    def add(self, paths: Sequence[Path], found: dict[str, Any]) -> None:
        line = dump_json({"model": self.model, "files": list(_key(paths)), **found})
        append_line(self.file, line)


def _key(paths: Sequence[Path]) -> tuple[str, ...]:
    return tuple(str(path.absolute()) for path in paths)
