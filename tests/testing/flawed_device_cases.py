"""Devices that lie, crash, hang, flicker and refuse, found by name in any process: a file lists their faults."""

import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nnapi.contract.driver import Driver, Outcome, PrepareOptions, Request, Verdict
from nnapi.model.model import Model
from nnapi.operation_codes import NAMES
from nnapi.testing.corpus import write
from nnapi.testing.example import Example, ExampleGraph, OperandSource, OperandSpec, OperationSpec
from nnapi.testing.suite.result import Status
from nnapi.testing.suite.worker import Worker, WorkerEndedError
from tests.testing.testing_cases import Borrowed

EXPECTED = {"RELU": [0, 2], "RELU1": [-1, 1], "ABS": [1, 2], "NEG": [1, -2], "FLOOR": [-1, 2]}
"""The results of operations for [-1, 2]."""
ENDS: dict[str, Callable[[], None]] = {"crashes": os.abort, "hangs": lambda: time.sleep(600)}
"""The faults that end a process."""


class EndedError(BaseException):
    """The process would have ended."""


def perform_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let workers perform tests in this process, where crashes and hangs are exceptions."""

    def end(status: Status) -> None:
        raise EndedError(status)

    def do(worker: Worker, task: Any) -> Any:
        try:
            return worker.prepare()(task)
        except EndedError as ended:
            raise WorkerEndedError(ended.args[0], f"it would have {ended.args[0]}") from None

    monkeypatch.setitem(ENDS, "crashes", partial(end, Status.CRASHED))
    monkeypatch.setitem(ENDS, "hangs", partial(end, Status.TIMED_OUT))
    monkeypatch.setattr(Worker, "do", do)


def one(operation: str, name: str = "") -> Example:
    """Return an example of an operation; its result is right."""
    operands = tuple(
        OperandSpec("TENSOR_FLOAT32", (2,), lifetime=lifetime, name=lifetime.name.lower())
        for lifetime in (OperandSource.SUBGRAPH_INPUT, OperandSource.SUBGRAPH_OUTPUT)
    )
    main = ExampleGraph(operands, (OperationSpec(operation, (0,), (1,)),), (0,), (1,))
    inputs, outputs = np.array([-1, 2], np.float32), np.array(EXPECTED[operation], np.float32)
    return Example(name or operation.lower(), main, {0: inputs}, {1: outputs})


def write_examples(file: Path, *operations: str) -> Path:
    write(file, map(one, operations))
    return file


def install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nnapi find devices by the names of .flawed files, here and in processes that this one spawns."""
    place = folder / "flawed-1.0.dist-info"
    place.mkdir()
    (place / "METADATA").write_text("Metadata-Version: 2.1\nName: flawed\nVersion: 1.0\n")
    (place / "entry_points.txt").write_text(f"[nnapi.drivers]\n.flawed = {__name__}:FILES\n")
    monkeypatch.syspath_prepend(str(folder))


def write_device(file: Path, **faults: str) -> Path:
    """Write a device with a fault for some operations: ``lies``, ``crashes``, ``hangs``, ``flickers``, ``refuses``."""
    file.write_text("".join(f"{operation} {fault}\n" for operation, fault in faults.items()))
    return file


class Flawed(Borrowed):
    """A driver with the faults that its file lists when they are needed."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.file = file

    def fault(self, model: Model) -> str:
        faults = dict(line.split() for line in self.file.read_text().splitlines())
        return next((faults[name] for call in model.operations if (name := NAMES[call.code]) in faults), "")

    def verdicts(self, model: Model) -> Sequence[Verdict]:
        refuses = self.fault(model) == "refuses"
        return [Verdict(not refuses, "the device lacks it" if refuses else "")] * len(model.operations)

    def prepare(self, model: Model, options: PrepareOptions) -> Any:
        prepared = super().prepare(model, options)
        execute = prepared.execute

        def execute_with_fault(request: Request) -> Outcome:
            return self._suffer(self.fault(model), execute(request))

        return SimpleNamespace(execute=execute_with_fault, close=prepared.close)

    def _suffer(self, fault: str, outcome: Outcome) -> Outcome:
        match fault:
            case "crashes" | "hangs":
                ENDS[fault]()
            case "flickers" if not (mark := self.file.with_suffix(".flickered")).exists():
                mark.touch()
            case "lies":
                pass
            case _:
                return outcome
        return outcome._replace(outputs=[output + np.float32(1) for output in outcome.outputs])


class FlawedFiles:
    """The devices of .flawed files."""

    def find(self, name: str) -> str:
        return str(Path(name).absolute())

    def make(self, path: str, names: set[str], find: Callable[[str], Driver]) -> Driver:
        return Flawed(Path(path))


FILES = FlawedFiles()
