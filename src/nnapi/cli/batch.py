"""Many runs: on all cores, past files that cannot be read, and kept line by line so that the rest can follow."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self

import numpy as np

import nnapi
from nnapi.cli.cluster_runs import Ended
from nnapi.cli.failure import Mistake
from nnapi.cli.inputs import Given, input_operands
from nnapi.cli.sounds import read_windows
from nnapi.errors import NnapiError
from nnapi.model.operand import Array

UNRUNNABLE = (Mistake, OSError, NnapiError)
"""What may be wrong with one input and leaves the others alone."""


class Failure(NamedTuple):
    """A run that there was not, with what was raised."""

    error: Exception


class Sounding(NamedTuple):
    """The runs on the windows of a recording, as one: outputs lie one after the other in the first dimension."""

    given: list[Given]
    outputs: list[Array]
    seconds: float
    step: float
    length: float
    windows: int


def list_files(paths: Sequence[Path]) -> list[Path]:
    """The files, and in the place of a folder its pictures, arrays and recordings, by name; a Mistake where there are
    none."""
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
    compilation: nnapi.Compilation, planned: Sequence[Sequence[Path]], read: Callable[[Sequence[Path]], list[Given]]
) -> Iterator[Ended | Failure]:
    """Each run as it ended, in order, or why there was none; seconds are those since the one before.

    Inputs are read in this thread while others compute.
    """
    waiting: deque[list[Given] | Failure] = deque()

    def feed() -> Iterator[tuple[Array, ...]]:
        for paths in planned:
            try:
                given = read(paths)
            except UNRUNNABLE as error:
                waiting.append(Failure(error))
                continue
            waiting.append(given)
            yield tuple(value.array for value in given)

    if len(planned) == 1:  # all cores for it
        yield _run_one(compilation, planned[0], read)
        return
    results = compilation.run_many(feed())
    start = time.perf_counter()
    while True:
        ended: list[Array] | Failure
        try:
            ended = next(results)
        except StopIteration:
            break
        except NnapiError as error:
            ended = Failure(error)
        while isinstance(waiting[0], Failure):
            yield waiting.popleft()  # type: ignore[misc]  # as was just asked
        given, now = waiting.popleft(), time.perf_counter()
        yield ended if isinstance(ended, Failure) else (given, ended, now - start)  # type: ignore[misc]  # not a Failure
        start = now
    yield from waiting  # type: ignore[misc]  # what is left could not be read


def _run_one(
    compilation: nnapi.Compilation, paths: Sequence[Path], read: Callable[[Sequence[Path]], list[Given]]
) -> Ended | Failure:
    try:
        given = read(paths)
        start = time.perf_counter()
        outputs = compilation.run(*(value.array for value in given))
    except UNRUNNABLE as error:
        return Failure(error)
    return given, outputs, time.perf_counter() - start


def run_windows(compilation: nnapi.Compilation, files: Sequence[Path], rate: int) -> Iterator[Sounding | Failure]:
    """Each recording, window by window on all cores; ``rate`` is what the model wants, 0 where nobody knows."""
    (operand,) = input_operands(compilation.model)
    for file in files:
        try:
            windows = read_windows(file, operand.type, rate)
            start = time.perf_counter()
            outputs = list(compilation.run_many(windows.inputs))
        except UNRUNNABLE as error:
            yield Failure(error)
            continue
        seconds = time.perf_counter() - start
        joined = [np.concatenate([np.atleast_1d(one[i]) for one in outputs]) for i in range(len(outputs[0]))]
        given = [Given(windows.inputs[0], file.name, windows.done, file)]
        yield Sounding(given, joined, seconds, windows.step, windows.length, len(outputs))


class Kept:
    """A file with a line of JSON for each run. What it holds when it is opened is not run again; a last line that was
    cut off, as by a kill, is taken away."""

    def __init__(self, file: Path, model: str) -> None:
        self.file, self.model = file, model
        self._keys: set[tuple[str, ...]] = set()
        self._opened: BinaryIO | None = None
        self._read()
        self.before = len(self._keys)

    def _read(self) -> None:
        try:
            content = self.file.read_bytes()
        except FileNotFoundError:
            return
        self._whole = content.rfind(b"\n") + 1
        for number, line in enumerate(content[: self._whole].splitlines(), 1):
            try:
                found = json.loads(line)
                model, files = found["model"], found["files"]
                key = tuple(map(str, files))
            except (ValueError, TypeError, KeyError):
                raise Mistake(f"{self.file} is not continued: line {number} is no run of nnapi run --jsonl") from None
            if model != self.model:
                raise Mistake(f"{self.file} is not continued: line {number} is of {model}, not {self.model}")
            self._keys.add(key)

    _whole = 0
    """Bytes of whole lines."""

    def __contains__(self, paths: object) -> bool:
        return isinstance(paths, list) and _key(paths) in self._keys

    def __enter__(self) -> Self:
        self._opened = self.file.open("ab")
        self._opened.truncate(self._whole)
        return self

    def __exit__(self, *_: object) -> None:
        if self._opened:
            self._opened.close()

    def add(self, paths: Sequence[Path], found: dict[str, Any]) -> None:
        """A line for the run on these files, on its way to the disk before the next begins."""
        assert self._opened
        line = json.dumps({"model": self.model, "files": list(_key(paths)), **found}, ensure_ascii=False)
        self._opened.write(line.encode("utf-8", "replace") + b"\n")
        self._opened.flush()


def _key(paths: Sequence[Path]) -> tuple[str, ...]:
    return tuple(str(path.absolute()) for path in paths)
