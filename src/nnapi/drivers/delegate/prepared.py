"""A model prepared on a delegate."""

from __future__ import annotations

from collections.abc import Sequence

from nnapi.drivers.base import Inference, Outcome, Request
from nnapi.drivers.delegate.plugin import Plugin
from nnapi.drivers.litert.artifact import Compiled
from nnapi.drivers.litert.interpreter import Instance, Program
from nnapi.drivers.prepared import CLOSED, check_deadline
from nnapi.errors import OpFailedError, need
from nnapi.model.operand import Array, Shape


class PreparedDelegated:
    """One interpreter, whose runs wait for their turn at the delegate."""

    def __init__(self, plugin: Plugin, compiled: Compiled) -> None:
        """Raise OpFailedError unless the delegate claims the whole graph."""
        self._plugin, self.compiled = plugin, compiled
        program = Program(compiled.content, compiled.flipped, compiled.shapes, compiled.file)
        with plugin.turn:
            self._instance: Instance | None = Instance(program, 1, self._open)

    def execute(self, request: Request) -> Outcome:
        with self._plugin.turn:
            check_deadline(request)
            instance = self._need_instance()
            instance.run(request.inputs)
            return Outcome(instance.results())

    def direct(self, shapes: Sequence[Shape], borrow: bool) -> Inference:
        turn, compute = self._plugin.turn, self._need_instance().direct

        def run(inputs: Sequence[Array]) -> list[Array]:
            with turn:
                self._need_instance()
                return compute(inputs)

        return run

    def close(self) -> None:
        with self._plugin.turn:
            self._instance = None

    def _need_instance(self) -> Instance:
        if self._instance is None:
            raise OpFailedError(CLOSED)
        return self._instance

    def _open(self, program: Program, threads: int) -> object:
        opened = self._plugin.open(program)
        numbers = dict.fromkeys(self.compiled.origins[node] for node in opened.left)
        told = ", ".join("a conversion" if number is None else f"#{number}" for number in numbers)
        said = opened.said and f": {opened.said}"
        need(not opened.left, f"{self._plugin.name} did not take operation {told} here{said}", OpFailedError)
        return opened.interpreter
