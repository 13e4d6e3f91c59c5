"""Judge examples in a separate process, so that a crash or a hang counts as a failure of the example."""

import signal
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from typing import Any

from nnapi.runtime.device import Device, device
from nnapi.testing.child_processes import leave_with, starting_children
from nnapi.testing.example import Example
from nnapi.testing.random.judging import Judgement, Outcome, judge

Find = Callable[[str], Device]
PATIENCE = 60.0
"""Seconds that one example may take."""


class Child:
    """A process that judges examples on one device. It starts at first use, and again after it ended."""

    def __init__(self, name: str, *, special: bool = False, patience: float = PATIENCE, find: Find = device) -> None:
        """``find`` returns the device with this name; it is called in the process."""
        self.name, self.special, self.patience, self._find = name, special, patience, find
        self._process: Any = None
        self._pipe: Connection | None = None

    def judge(self, example: Example) -> Judgement:
        """Judge an example. It is a failure if the process ends or does not answer in time."""
        pipe = self._pipe
        if pipe is None or not self._process.is_alive():
            pipe = self._start()
        begin = time.monotonic()
        try:
            pipe.send(example)
            if pipe.poll(self.patience):
                judgement: Judgement = pipe.recv()
                return judgement
            said = f"no answer within {self.patience:g} s"
        except (EOFError, OSError):
            self._process.join(self.patience)
            said = f"the process ended: {_describe_end(self._process.exitcode)}, after {time.monotonic() - begin:.1f} s"
        self.close()
        return _failed(example, said)

    def _start(self) -> Connection:
        self.close()
        context = get_context("spawn")
        self._pipe, other = pipe, _ = context.Pipe()
        words = other, self.name, self.special, self._find
        self._process = context.Process(target=_serve, args=words, daemon=True)
        with starting_children():
            self._process.start()
        other.close()
        return pipe

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
        if self._pipe is not None:
            self._pipe.close()
        self._process = self._pipe = None

    def __enter__(self) -> "Child":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _failed(example: Example, said: str) -> Judgement:
    return Judgement(Outcome.FAILED, said, example.main.operations[-1].type, example)


def _describe_end(code: int | None) -> str:
    if code is not None and code < 0:
        with suppress(ValueError):
            return signal.Signals(-code).name
    return f"exit status {code}"


def _serve(pipe: Connection, name: str, special: bool, find: Find) -> None:
    parent = parent_process()
    assert parent is not None  # this runs in a child
    leave_with(parent.sentinel)
    engine = find(name)
    while True:
        try:
            example = pipe.recv()
        except EOFError:
            return
        try:
            judgement = judge(example, engine, special=special)
        except Exception as error:
            judgement = _failed(example, f"{type(error).__name__}: {error}")
        with suppress(BrokenPipeError):
            pipe.send(judgement)
