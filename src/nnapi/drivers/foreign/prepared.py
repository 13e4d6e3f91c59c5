"""A model compiled by another NNAPI library for one of its devices."""

import math
import threading
import weakref
from collections.abc import Callable, Sequence

from nnapi.drivers.base import DriverDiedError, Inference, Outcome, Prepared, Request
from nnapi.drivers.foreign.built_model import Compiled, Frame
from nnapi.drivers.prepared import CLOSED, check_deadline
from nnapi.drivers.wrapping import Borrowed
from nnapi.errors import OpFailedError, need
from nnapi.locks import make_lock
from nnapi.model.call import check_declared
from nnapi.model.model import Model
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.trace import Section

GUESS = 1
"""The assumed size of an output's dynamic dimension until the library returns its shape."""
TRIALS = 3
"""Maximum runs until the library has reported the outputs' sizes."""


class Live:
    """A compilation or burst of a connection, freed with this object; ``needed`` is not freed before."""

    def __init__(self, compiled: Compiled, needed: "Callable[[], None] | Live") -> None:
        self.compiled, self.needed = compiled, needed
        self.free = weakref.finalize(self, _free, compiled, None if isinstance(needed, Live) else needed)
        self.free.atexit = False


def _free(compiled: Compiled, needed: Callable[[], None] | None) -> None:
    compiled.close()
    if needed:
        needed()


class PreparedForeign:
    """A compilation, or a burst of one, made again once its connection is lost. It is closed after its last run and its
    last session."""

    def __init__(
        self, model: Model, make: Callable[[], Live], section: Section, leave: Callable[[], None] | None = None
    ) -> None:
        """``section`` traces each run; ``leave`` is called once it is closed."""
        self._model, self._make, self._section, self._leave_owner = model, make, section, leave
        self._outputs = [model.operands[index].type for index in model.outputs]
        self._lock = make_lock()
        self._thread = threading.local()
        """The error of a thread's last run on the fast path, raised by its next run on the general path."""
        self._users, self._is_closed = 0, False
        self._live = make()

    def execute(self, request: Request) -> Outcome:
        death: DriverDiedError | None = self._thread.__dict__.pop("death", None)
        if death is not None:
            raise death
        check_deadline(request)
        with self._section:
            return self._execute(request, measure=True)

    def direct(self, shapes: Sequence[Shape], borrow: bool) -> Inference | None:
        """Return a run that measures nothing; None if an output has dynamic dimensions."""
        if not all(type.is_known for type in self._outputs):
            return None
        frame = Frame(self._live.compiled, shapes, [type.dimensions for type in self._outputs])

        def run(inputs: Sequence[Array]) -> list[Array]:
            live = self._enter()
            try:
                return live.compiled.run_frame(frame, inputs)
            except DriverDiedError as death:
                self._thread.death = death
                raise
            finally:
                self._leave()

        return run

    def session(self) -> Prepared:
        """Return a burst; this itself if the library has none."""
        live = self._enter()
        if not live.compiled.agent.has_bursts:
            self._leave()
            return Borrowed(self)

        def make() -> Live:
            live = self._find()
            return Live(live.compiled.open_burst(), live)

        try:
            return PreparedForeign(self._model, make, self._section, self._leave)
        except BaseException:
            self._leave()
            raise

    def close(self) -> None:
        with self._lock:
            is_free = not (self._is_closed or self._users)
            self._is_closed = True
        if is_free:
            self._free()

    def _find(self) -> Live:
        """Return the compilation of a live connection."""
        if not self._live.compiled.agent.is_alive:
            with self._lock:
                if not self._live.compiled.agent.is_alive:
                    self._live = self._make()
        return self._live

    def _enter(self) -> Live:
        with self._lock:
            need(not self._is_closed, CLOSED, OpFailedError)
            self._users += 1
        try:
            return self._find()
        except BaseException:
            self._leave()
            raise

    def _leave(self) -> None:
        with self._lock:
            self._users -= 1
            is_last = self._is_closed and not self._users
        if is_last:
            self._free()

    def _free(self) -> None:
        self._live.free()
        if self._leave_owner:
            self._leave_owner()

    def _execute(self, request: Request, measure: bool) -> Outcome:
        live = self._enter()
        try:
            return self._run(live, request, measure)
        finally:
            self._leave()

    def _run(self, live: Live, request: Request, measure: bool) -> Outcome:
        shapes: list[Shape] = [tuple([n or GUESS for n in type.dimensions]) for type in self._outputs]
        for _ in range(TRIALS):
            result = live.compiled.run(request, shapes, measure)
            shapes = [
                type.dimensions if shape is None else self._check(index, type, shape)
                for index, (type, shape) in enumerate(zip(self._outputs, result.shapes, strict=True))
            ]
            if result.is_complete:
                outputs = [self._cut(*each) for each in zip(shapes, result.buffers, strict=True)]
                return Outcome(outputs, result.hardware_ns, result.driver_ns)
        raise OpFailedError(f"{live.compiled.agent.path} asks for larger outputs than it has said that they are")

    def _check(self, index: int, declared: OperandType, shape: Shape) -> Shape:
        try:
            check_declared(declared.with_dimensions(shape), declared, is_model_output=True)
        except OpFailedError as error:
            raise OpFailedError(f"{self._live.compiled.agent.path}: output {index} {error}") from None
        return shape

    def _cut(self, shape: Shape, buffer: Array) -> Array:
        count = math.prod(shape)
        need(
            count <= buffer.size,
            f"{self._live.compiled.agent.path} says that it gave {count} elements, the buffer takes {buffer.size}",
            OpFailedError,
        )
        return buffer[:count].reshape(shape)
