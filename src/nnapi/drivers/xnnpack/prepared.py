"""A model made ready on the engine."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence

from nnapi.codes import OperandCode
from nnapi.drivers.base import Inference, Outcome, Request
from nnapi.drivers.xnnpack.engine import Instance, Pool, Program
from nnapi.drivers.xnnpack.flatbuffer import serialise
from nnapi.drivers.xnnpack.graph import Graph
from nnapi.errors import MissedDeadlinePersistentError, OpFailedError, need
from nnapi.model.model import Model
from nnapi.model.operand import Array, Shape
from nnapi.trace import Layer, Phase, Section

GRAPHS_KEPT = 4
"""Graphs kept for different extents of one model's inputs."""


class PreparedGraph:
    """A model as a serialised graph and the interpreters that run it.

    A run is one call of the engine and cannot be stopped: deadlines are looked at before it.
    """

    def __init__(self, model: Model, graph: Graph, threads: int) -> None:
        types = [model.operands[index].type.code for index in (*model.inputs, *model.outputs)]
        flipped = tuple(code == OperandCode.TENSOR_QUANT8_ASYMM for code in types)
        shapes = tuple(tensor.shape for tensor in graph.outputs)
        self._pool = Pool(Program(serialise(graph), flipped, shapes, _section(model)), threads)

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
    """A model whose inputs have extents that only a run decides: a graph for each that comes up, the last few kept."""

    def __init__(self, make: Callable[[Sequence[Shape]], PreparedGraph], assumed: Sequence[Shape]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._graphs: OrderedDict[tuple[Shape, ...], PreparedGraph] = OrderedDict()
        self._latest = tuple(assumed), self._graph(tuple(assumed))

    def execute(self, request: Request) -> Outcome:
        shapes, graph = self._latest
        given = tuple([array.shape for array in request.inputs if array is not None])
        if given != shapes:
            need(len(given) == len(shapes), "an input is omitted", OpFailedError)
            graph = self._graph(given)
            self._latest = given, graph
        return graph.execute(request)

    def direct(self, shapes: Sequence[Shape], borrow: bool) -> Inference:
        return self._graph(tuple(shapes)).direct(shapes, borrow)

    def close(self) -> None:
        with self._lock:
            for graph in self._graphs.values():
                graph.close()

    def _graph(self, shapes: tuple[Shape, ...]) -> PreparedGraph:
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


def _section(model: Model) -> Section:
    """Numbers and names of the operations: the interpreter tells Python how long they all took, not each of them."""
    numbers, kinds = [call.number for call in model.operations], [call.name for call in model.operations]
    return Section(Layer.DRIVER, Phase.COMPUTATION, "LiteRT", model=model.name, holds=numbers, kinds=kinds)


def _run(instance: Instance, request: Request, borrow: bool = False) -> Outcome:
    if request.deadline is not None and time.monotonic_ns() > request.deadline:
        raise MissedDeadlinePersistentError("the time limit passed before the computation began")
    instance.run(request.inputs)
    return Outcome(instance.borrowed() if borrow else instance.results())
