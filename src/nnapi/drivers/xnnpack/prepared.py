"""A model made ready on the engine."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from nnapi.drivers.base import Inference, Outcome, Request
from nnapi.drivers.xnnpack.engine.artifact import Compiled
from nnapi.drivers.xnnpack.engine.interpreter import Instance, Pool, Program
from nnapi.drivers.xnnpack.engine.profiler.profile import profile
from nnapi.errors import MissedDeadlinePersistentError, OpFailedError
from nnapi.model.model import Model
from nnapi.model.operand import Array, Shape

GRAPHS_KEPT = 4
"""Graphs kept for different extents of one model's inputs."""


class PreparedGraph:
    """A model as a serialised graph and the interpreters that run it.

    A run is one call of the engine and cannot be stopped: deadlines are looked at before it.
    """

    def __init__(self, model: Model, compiled: Compiled, threads: int) -> None:
        self.model, self.compiled = model, compiled
        traced = partial(profile, model, compiled.origins)
        program = Program(compiled.content, compiled.flipped, compiled.shapes, compiled.file, traced)
        self._pool = Pool(program, threads)

    def execute(self, request: Request) -> Outcome:
        instance = self._pool.take()
        try:
            return _run(instance, request)
        finally:
            self._pool.put(instance)

    def session(self) -> Session:
        return Session(self._pool)

    def direct(self, shapes: Sequence[Shape], borrow: bool) -> Inference:
        """A run on whichever instance is idle; there is nothing to borrow from one that goes back."""
        take, put = self._pool.take, self._pool.put

        def run(inputs: Sequence[Array]) -> list[Array]:
            instance = take()
            try:
                return instance.direct(inputs)
            finally:
                put(instance)

        return run

    def close(self) -> None:
        self._pool.close()


class OpenGraph:
    """A model whose inputs have extents, or are omitted, as only a run decides: a graph for each case, the last few
    kept."""

    def __init__(
        self,
        make: Callable[[Sequence[Shape | None]], PreparedGraph],
        assumed: Sequence[Shape | None],
        first: PreparedGraph | None = None,
    ) -> None:
        """``first`` is the graph for the ``assumed`` extents, if there is one already."""
        self._make = make
        self._lock = threading.Lock()
        self._graphs: OrderedDict[tuple[Shape | None, ...], PreparedGraph] = OrderedDict()
        if first is not None:
            self._graphs[tuple(assumed)] = first
        self.first = self._graph(tuple(assumed))
        self._latest = tuple(assumed), self.first

    def execute(self, request: Request) -> Outcome:
        shapes, graph = self._latest
        given = tuple([None if array is None else array.shape for array in request.inputs])
        if given != shapes:
            graph = self._graph(given)
            self._latest = given, graph
        if None in given:
            request = replace(request, inputs=[array for array in request.inputs if array is not None])
        return graph.execute(request)

    def direct(self, shapes: Sequence[Shape], borrow: bool) -> Inference:
        return self._graph(tuple(shapes)).direct(shapes, borrow)

    def close(self) -> None:
        with self._lock:
            for graph in self._graphs.values():
                graph.close()

    def _graph(self, shapes: tuple[Shape | None, ...]) -> PreparedGraph:
        with self._lock:
            graph = self._graphs.get(shapes)
            if graph is None:
                graph = self._graphs[shapes] = self._make(shapes)
                if len(self._graphs) > GRAPHS_KEPT:
                    self._graphs.popitem(last=False)
            else:
                self._graphs.move_to_end(shapes)
            return graph


class Session:
    """An interpreter of one's own, for one run at a time."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._instance: Instance | None = pool.take()

    def execute(self, request: Request) -> Outcome:
        instance = self._instance
        if instance is None:
            raise OpFailedError("the session is closed")
        return _run(instance, request, request.borrow)

    def direct(self, shapes: Sequence[Shape], borrow: bool) -> Inference | None:
        instance = self._instance
        return None if instance is None else instance.borrowing if borrow else instance.direct

    def close(self) -> None:
        instance, self._instance = self._instance, None
        if instance is not None:
            self._pool.put(instance)


def _run(instance: Instance, request: Request, borrow: bool = False) -> Outcome:
    if request.deadline is not None and time.monotonic_ns() > request.deadline:
        raise MissedDeadlinePersistentError("the time limit passed before the computation began")
    instance.run(request.inputs)
    return Outcome(instance.borrowed() if borrow else instance.results())
