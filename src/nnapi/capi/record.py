"""NNAPI_RECORD=FILE: record the models and runs of a client of the C library as a file of examples, for ``nnapi
check``."""

from __future__ import annotations

import atexit
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from nnapi.capi.handles import Handles
from nnapi.codes import ResultCode
from nnapi.errors import NnapiError
from nnapi.locks import make_lock
from nnapi.model.memory import view_bytes
from nnapi.model.model import Model
from nnapi.model.operand import Array
from nnapi.runtime.binding import Argument
from nnapi.runtime.compilation import Compilation
from nnapi.runtime.execution import Execution
from nnapi.store.files import output_file
from nnapi.testing.corpus import write_to
from nnapi.testing.example import Example
from nnapi.testing.record import example_of

Call = Callable[..., int]

WRITING_SHARE = 0.1
"""Writing the file takes at most this share of a client's time; the rest is written at exit."""


class Recorder:
    """The recorded runs and their file. Safe to use from several threads."""

    def __init__(self, path: str, handles: Mapping[str, Handles], say: Callable[[str], None]) -> None:
        self._path = Path(path)
        self._print = say
        self._handles = handles
        self._models: list[Model] = []
        self._runs: list[Run] = []
        self._pending: dict[int, Run] = {}
        self._lock = make_lock()
        self._next_write = 0.0
        atexit.register(self.write)

    def watch(self, name: str, call: Call) -> Call:
        """Return a function that calls the exported one and records it, or the exported one itself."""
        watchers = {
            "ANeuralNetworksModel_finish": self._finish,
            "ANeuralNetworksExecution_compute": self._compute,
            "ANeuralNetworksExecution_burstCompute": self._compute,
            "ANeuralNetworksExecution_startCompute": self._start,
            "ANeuralNetworksExecution_startComputeWithDependencies": self._start,
            "ANeuralNetworksEvent_wait": self._wait,
        }
        watcher = watchers.get(name)
        return call if watcher is None else lambda *raw: watcher(call, *raw)

    def write(self) -> None:
        """Replace the file atomically."""
        with self._lock:
            begin = time.monotonic()
            try:
                with output_file(self._path) as file:
                    write_to(file, self._examples())
            except OSError as error:
                self._print(f"NNAPI_RECORD: {self._path} not written: {error}")
            end = time.monotonic()
            self._next_write = end + (end - begin) / WRITING_SHARE

    def _examples(self) -> Iterator[Example]:
        for number, model in enumerate(self._models):
            runs = [run for run in self._runs if run.model is model]
            for position, run in enumerate(runs):
                yield run.example(f"model_{number}_run_{position}")
            if not runs:
                yield example_of(model, f"model_{number}", spec="built, not run")

    def _keep(self, run: Run) -> None:
        with self._lock:
            self._note_model(run.model)
            self._runs.append(run)
        if time.monotonic() >= self._next_write:
            self.write()

    def _note_model(self, model: Model) -> None:
        if not any(model is other for other in self._models):
            self._models.append(model)

    # Watched functions

    def _finish(self, call: Call, handle: int) -> int:
        model = self._handles["Model"].find(handle)  # the call itself reports an unknown handle
        if model is not None:
            with self._lock:
                self._note_model(model)
        return call(handle)

    def _compute(self, call: Call, handle: int, *others: int) -> int:
        run = self._begin(handle)
        code = call(handle, *others)
        self._end(run, code)
        return code

    def _start(self, call: Call, handle: int, *others: Any) -> int:
        run = self._begin(handle)
        code = call(handle, *others)
        event = others[-1]
        if code or not run:
            self._end(run, code)
        else:
            self._pending[event[0]] = run
        return code

    def _wait(self, call: Call, event: int) -> int:
        code = call(event)
        self._end(self._pending.pop(event, None), code)
        return code

    def _begin(self, handle: int) -> Run | None:
        execution = self._handles["Execution"].find(handle)
        return None if execution is None else Run(execution)

    def _end(self, run: Run | None, code: int) -> None:
        if run is not None:
            run.end(code)
            self._keep(run)


class Run:
    """One computation: its inputs at the start, its outputs at the end."""

    def __init__(self, execution: Execution) -> None:
        self._execution = execution
        self.model = execution.model
        self._inputs = {index: _copy(argument) for index, argument in _list_arguments(execution, "input")}
        self._outputs: dict[int, Array] | None = None
        self._spec = _options(execution.compilation)

    def end(self, code: int) -> None:
        """Record the outputs, or the result code of a failure."""
        if code:
            self._spec += f"; failed with {ResultCode(code).name}"
            return
        self._outputs = {}
        for position, (index, argument) in enumerate(_list_arguments(self._execution, "output")):
            type = self.model.operands[index].type
            rank = self._execution.output_operand_rank(position)
            shape = self._execution.output_operand_dimensions(position) if rank else ()
            value = None if argument is None or argument.is_omitted else _bytes(argument)
            if value is not None:
                count = int(np.prod(shape))
                self._outputs[index] = value[: count * type.dtype.itemsize].view(type.dtype).reshape(shape).copy()

    def example(self, name: str) -> Example:
        complete = self._outputs is not None and len(self._outputs) == len(self.model.outputs)
        return example_of(self.model, name, self._inputs, self._outputs if complete else None, self._spec)


def _list_arguments(execution: Execution, role: str) -> list[tuple[int, Argument | None]]:
    binding = execution._inputs if role == "input" else execution._outputs
    return list(zip(binding.indices, binding.arguments, strict=True))


def _copy(argument: Argument | None) -> Array | None:
    try:
        array = None if argument is None else argument.array()
    except NnapiError:
        return None  # the run itself fails and reports the reason
    return None if array is None else array.copy()


def _bytes(argument: Argument) -> Array:
    if argument.opaque is not None:
        return view_bytes(argument.opaque.load())
    return argument.bytes()


def _options(compilation: Compilation) -> str:
    devices = ", ".join(device.name for device in compilation.devices)
    asked = [compilation._preference.name, compilation._priority.name]
    if compilation._timeout:
        asked.append(f"time limit {compilation._timeout} ns")
    if compilation._cache:
        asked.append(f"cache {compilation._cache.directory}, token {compilation._cache.token.hex()}")
    asked += [f"{name} {code}: {data.hex()}" for name, code, data in compilation._attributes]
    return f"recorded on {devices}{' as demanded' if compilation.is_explicit else ''}; {', '.join(asked)}"
