"""Results of asynchronous runs."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from nnapi.drivers.base import Request
from nnapi.model.operand import Array
from nnapi.notebook_display import NotebookDisplay
from nnapi.runtime.burst import Runnable
from nnapi.runtime.event import Event
from nnapi.runtime.executors.executors import execute
from nnapi.runtime.inputs import check_inputs


class Result(Event, NotebookDisplay):
    """The event of a run, with its outputs: ``outputs = await compilation.start(x)``."""

    def __init__(self, compilation: Runnable, inputs: Sequence[Any]) -> None:
        prepared, request = compilation.prepared, Request(check_inputs(compilation.model, inputs))
        self.model = compilation.model
        self._outputs: list[Array] = []
        super().__init__(lambda: self._outputs.extend(execute(prepared, request).outputs))

    def result(self) -> list[Array]:
        """Wait for the outputs, in the order of ``model.outputs``; raise the error of the run."""
        self.wait()
        return list(self._outputs)

    def __await__(self) -> Generator[Any, None, list[Array]]:
        import asyncio  # 14 ms that only programs that await pay

        return asyncio.to_thread(self.result).__await__()
