"""A model prepared for XNNPACK."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from nnapi.contract.driver import Handle, OpenOptions, Outcome, Request
from nnapi.contract.prepared import Pool
from nnapi.drivers.litert.artifact import SerializedGraph
from nnapi.drivers.litert.interpreter import Instance, Program
from nnapi.errors import OpFailedError, need_value
from nnapi.model.model import Model
from nnapi.model.operand import Array


class PreparedGraph:
    """A serialized graph and its interpreters. A run cannot be stopped, so deadlines are checked only before it."""

    def __init__(self, model: Model, compiled: SerializedGraph, threads: int) -> None:
        self.model, self.compiled = model, compiled
        self.program = Program(compiled, model)
        make = partial(Instance, self.program, threads)
        first = make()
        self._shapes = first.shapes
        self._pool = Pool(make, first)

    @property
    def precision_refusal(self) -> str:
        return self.program.precision_refusal

    def execute(self, request: Request, *, measure: bool = False) -> Outcome:
        instance = self._pool.take()
        try:
            return instance.execute(request, measure=measure)
        finally:
            self._pool.put(instance)

    def open_handle(self, options: OpenOptions) -> Handle:
        """Return a handle with an interpreter of its own if it is exclusive, else one for any idle interpreter."""
        if options.exclusive:
            return _Session(self._pool).open_handle(options)
        take, put = self._pool.take, self._pool.put

        def call(inputs: Sequence[Array]) -> list[Array]:
            instance = take()
            try:
                return instance.copying(inputs)
            finally:
                put(instance)

        fits = options.shapes is not None and [*options.shapes] == self._shapes
        execute = partial(self.execute, measure=True) if options.measure else self.execute
        return Handle(execute, self.open_handle, call if fits else None)

    def close(self) -> None:
        self._pool.close()


class _Session:
    """An interpreter outside of the pool until the session is closed."""

    def __init__(self, pool: Pool[Instance]) -> None:
        self._pool = pool
        self._instance: Instance | None = pool.take()

    def open_handle(self, options: OpenOptions) -> Handle:
        handle = self._need_instance().open_handle(options)

        def execute(request: Request) -> Outcome:
            self._need_instance()
            return handle.execute(request)

        return handle._replace(execute=execute, reopen=self.open_handle, close=self.close)

    def close(self) -> None:
        instance, self._instance = self._instance, None
        if instance is not None:
            self._pool.put(instance)

    def _need_instance(self) -> Instance:
        return need_value(self._instance, "the session is closed", OpFailedError)
