"""A model prepared for XNNPACK."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from nnapi.contract.driver import Bound, Inference, Outcome, Request
from nnapi.contract.prepared import Pool
from nnapi.drivers.litert.artifact import Compiled
from nnapi.drivers.litert.interpreter import Instance, Program
from nnapi.errors import OpFailedError
from nnapi.model.model import Model
from nnapi.model.operand import Array, Shape


class PreparedGraph:
    """A serialized graph and its interpreters. A run cannot be stopped, so deadlines are checked only before it."""

    def __init__(self, model: Model, compiled: Compiled, threads: int) -> None:
        self.model, self.compiled = model, compiled
        self.program = Program(compiled, model)
        make = partial(Instance, self.program, threads)
        self._pool = Pool(make, make())

    @property
    def precision_refusal(self) -> str:
        return self.program.precision_refusal

    def execute(self, request: Request) -> Outcome:
        instance = self._pool.take()
        try:
            return instance.execute(request)
        finally:
            self._pool.put(instance)

    def session(self) -> Session:
        return Session(self._pool)

    def direct(self, shapes: Sequence[Shape], borrow: bool) -> Inference:
        """Return a run on any idle interpreter; ``borrow`` has no effect."""
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


class Session:
    """A session: an interpreter for one run at a time."""

    def __init__(self, pool: Pool[Instance]) -> None:
        self._pool = pool
        self._instance: Instance | None = pool.take()

    def execute(self, request: Request) -> Outcome:
        instance = self._instance
        if instance is None:
            raise OpFailedError("the session is closed")
        return instance.execute(request, request.borrow)

    def direct(self, shapes: Sequence[Shape], borrow: bool) -> Inference | None:
        instance = self._instance
        return None if instance is None else instance.borrowing if borrow else instance.direct

    def bind(self, shapes: Sequence[Shape]) -> Bound | None:
        return None if self._instance is None else self._instance.bind(shapes)

    def close(self) -> None:
        instance, self._instance = self._instance, None
        if instance is not None:
            self._pool.put(instance)
