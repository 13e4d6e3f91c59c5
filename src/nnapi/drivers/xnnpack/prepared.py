"""A model prepared on the engine."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from nnapi.drivers.base import Bound, Inference, Outcome, Request
from nnapi.drivers.litert.artifact import Compiled
from nnapi.drivers.litert.interpreter import Engine, Instance, Program
from nnapi.drivers.prepared import Pool, check_deadline
from nnapi.errors import OpFailedError
from nnapi.model.model import Model
from nnapi.model.operand import Array, Shape

if TYPE_CHECKING:
    from nnapi.trace.profile import Profile


class PreparedGraph:
    """A serialized graph and its interpreters. A run cannot be stopped: deadlines are checked before it."""

    def __init__(self, model: Model, compiled: Compiled, threads: int) -> None:
        self.model, self.compiled = model, compiled
        profile = None if compiled.in_float16 else partial(_profile, model, compiled.origins)
        self.program = Program(compiled, profile)
        make = partial(Instance, self.program, threads)
        self._pool = Pool(make, make())

    @property
    def precision_refusal(self) -> str:
        return self.program.precision_refusal

    def execute(self, request: Request) -> Outcome:
        instance = self._pool.take()
        try:
            return _run(instance, request)
        finally:
            self._pool.put(instance)

    def session(self) -> Session:
        return Session(self._pool)

    def direct(self, shapes: Sequence[Shape], borrow: bool) -> Inference:
        """Return a run on any idle instance; ``borrow`` has no effect."""
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
    """An interpreter for one run at a time."""

    def __init__(self, pool: Pool[Instance]) -> None:
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

    def bind(self, shapes: Sequence[Shape]) -> Bound | None:
        return None if self._instance is None else self._instance.bind(shapes)

    def close(self) -> None:
        instance, self._instance = self._instance, None
        if instance is not None:
            self._pool.put(instance)


def _profile(model: Model, origins: Sequence[int | None]) -> Profile[Engine]:
    from nnapi.drivers.litert.profiler import profile  # only for traces

    return profile(model, origins)


def _run(instance: Instance, request: Request, borrow: bool = False) -> Outcome:
    check_deadline(request)
    instance.run(request.inputs)
    return Outcome(instance.results(borrow))
