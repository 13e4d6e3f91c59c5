"""What a run in the background gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nnapi.drivers.base import Request
from nnapi.model.operand import Array
from nnapi.notebook_display import NotebookDisplay
from nnapi.runtime.burst import Runnable
from nnapi.runtime.event import Event
from nnapi.runtime.executors.executors import execute
from nnapi.runtime.inputs import check_inputs


class Result(Event, NotebookDisplay):
    """An event that brings the outputs with it."""

    def __init__(self, compilation: Runnable, inputs: Sequence[Any]) -> None:
        prepared, request = compilation.prepared, Request(check_inputs(compilation.model, inputs))
        self.model = compilation.model
        self._outputs: list[Array] = []
        super().__init__(lambda: self._outputs.extend(execute(prepared, request).outputs))

    def result(self) -> list[Array]:
        """Wait for the outputs."""
        self.wait()
        return list(self._outputs)
