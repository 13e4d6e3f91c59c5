"""A model compiled by another NNAPI library for one of its devices."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from nnapi.drivers.base import Inference, Outcome, Prepared, Request
from nnapi.drivers.foreign.compiled import Compiled
from nnapi.drivers.prepared import CLOSED, check_deadline
from nnapi.drivers.wrapping import Borrowed
from nnapi.errors import OpFailedError, need
from nnapi.locks import make_lock
from nnapi.model.call import check_declared
from nnapi.model.model import Model
from nnapi.model.operand import Array, OperandType, Shape

GUESS = 1
"""The assumed size of an output's dynamic dimension until the library returns its shape."""
TRIALS = 3
"""Maximum runs until the library has reported the outputs' sizes."""


class PreparedForeign:
    """A compilation, or a burst of one. It is closed after its last run and its last session."""

    def __init__(self, path: str, compiled: Compiled, model: Model, close: Callable[[], None]) -> None:
        """``close`` is called after the compilation is closed."""
        self._path, self._compiled, self._model, self._close = path, compiled, model, close
        self._outputs = [model.operands[index].type for index in model.outputs]
        self._lock = make_lock()
        self._users, self._is_closed = 0, False

    def execute(self, request: Request) -> Outcome:
        check_deadline(request)
        return self._execute(request, measure=True)

    def direct(self, shapes: Sequence[Shape], borrow: bool) -> Inference | None:
        """Return a run that measures nothing."""
        compute = self._compiled.direct(shapes)

        def run(inputs: Sequence[Array]) -> list[Array]:
            if compute is None:
                return [*self._execute(Request(inputs), measure=False).outputs]
            self._enter()
            try:
                return compute(inputs)
            finally:
                self._leave()

        return run

    def session(self) -> Prepared:
        """Return a burst; this itself if the library has none."""
        self._enter()
        try:
            burst = self._compiled.open_burst()
        except BaseException:
            self._leave()
            raise
        if burst is None:
            self._leave()
            return Borrowed(self)
        return PreparedForeign(self._path, burst, self._model, self._leave)

    def close(self) -> None:
        with self._lock:
            is_free = not (self._is_closed or self._users)
            self._is_closed = True
        if is_free:
            self._free()

    def _enter(self) -> None:
        with self._lock:
            need(not self._is_closed, CLOSED, OpFailedError)
            self._users += 1

    def _leave(self) -> None:
        with self._lock:
            self._users -= 1
            is_last = self._is_closed and not self._users
        if is_last:
            self._free()

    def _free(self) -> None:
        self._compiled.close()
        self._close()

    def _execute(self, request: Request, measure: bool) -> Outcome:
        self._enter()
        try:
            return self._run(request, measure)
        finally:
            self._leave()

    def _run(self, request: Request, measure: bool) -> Outcome:
        shapes: list[Shape] = [tuple([n or GUESS for n in type.dimensions]) for type in self._outputs]
        for _ in range(TRIALS):
            result = self._compiled.run(request, shapes, measure)
            shapes = [
                type.dimensions if shape is None else self._check(index, type, shape)
                for index, (type, shape) in enumerate(zip(self._outputs, result.shapes, strict=True))
            ]
            if result.is_complete:
                outputs = [self._cut(*each) for each in zip(shapes, result.buffers, strict=True)]
                return Outcome(outputs, result.hardware_ns, result.driver_ns)
        raise OpFailedError(f"{self._path} asks for larger outputs than it has said that they are")

    def _check(self, index: int, declared: OperandType, shape: Shape) -> Shape:
        try:
            check_declared(declared.with_dimensions(shape), declared, is_model_output=True)
        except OpFailedError as error:
            raise OpFailedError(f"{self._path}: output {index} {error}") from None
        return shape

    def _cut(self, shape: Shape, buffer: Array) -> Array:
        count = math.prod(shape)
        need(
            count <= buffer.size,
            f"{self._path} says that it gave {count} elements, there was room for {buffer.size}",
            OpFailedError,
        )
        return buffer[:count].reshape(shape)
