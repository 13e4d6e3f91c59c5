"""A model compiled by another NNAPI library for one of its devices."""

import math
import threading
import weakref
from collections.abc import Callable, Sequence
from functools import partial

from nnapi.contract.driver import DriverDiedError, Handle, Inference, OpenOptions, Outcome, Request
from nnapi.contract.prepared import CLOSED, check_deadline
from nnapi.drivers.foreign.built_model import Frame, RemoteCompilation
from nnapi.errors import OpFailedError, need, need_value
from nnapi.locks import make_lock
from nnapi.model.call import check_declared
from nnapi.model.model import Model
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.trace import Section

GUESS = 1
"""Assumed size of an output's dynamic dimension, until the library reports the shape."""
TRIALS = 3
"""Maximum runs of a request, each with the output sizes that the library last reported."""


class Live:
    """A compilation or burst of one connection, freed with this object and before ``needed``."""

    def __init__(self, compiled: RemoteCompilation, needed: "Callable[[], None] | Live") -> None:
        self.compiled, self.needed = compiled, needed
        free = weakref.finalize(self, _free, compiled, None if isinstance(needed, Live) else needed)
        free.atexit = False


def _free(compiled: RemoteCompilation, needed: Callable[[], None] | None) -> None:
    compiled.close()
    if needed:
        needed()


class PreparedForeign:
    """A compilation, or a burst on one, that is made again after its connection is lost. Runs and sessions refer to it,
    so it is freed after the last of them."""

    def __init__(self, model: Model, make: Callable[[], Live], section: Section) -> None:
        """``make`` makes the compilation or burst; ``section`` traces each run."""
        self._model, self._make, self._section = model, make, section
        self._outputs = [model.operands[index].type for index in model.outputs]
        self._lock = make_lock()
        self._thread = threading.local()
        """Per thread: the error of its last run on the fast path. Its next run on the general path raises it."""
        self._is_closed = False
        self._live: Live | None = make()

    def execute(self, request: Request, *, measure: bool = False) -> Outcome:
        death: DriverDiedError | None = self._thread.__dict__.pop("death", None)
        if death is not None:
            raise death
        check_deadline(request)
        with self._section:
            return self._run(self._need_open(), request, measure)

    def open_handle(self, options: OpenOptions) -> Handle:
        """Return a handle; an exclusive one has a burst, if the library has bursts."""
        if not options.exclusive or not self._need_open().compiled.agent.has_bursts:
            return self._open(options)
        burst = PreparedForeign(self._model, self._make_burst, self._section)
        return burst._open(options)._replace(close=burst.close)

    def close(self) -> None:
        with self._lock:
            self._is_closed, self._live = True, None

    def _make_burst(self) -> Live:
        live = self._find()
        return Live(live.compiled.open_burst(), live)

    def _open(self, options: OpenOptions) -> Handle:
        execute = partial(self.execute, measure=True) if options.measure else self.execute
        return Handle(execute, self._open, None if options.shapes is None else self._find_call(options.shapes))

    def _find_call(self, shapes: Sequence[Shape]) -> Inference | None:
        """Return a run without measuring; None if an output has dynamic dimensions."""
        if not all(type.is_known for type in self._outputs):
            return None
        compiled = need_value(self._live, CLOSED, OpFailedError).compiled
        frame = Frame(compiled, shapes, [type.dimensions for type in self._outputs])

        def run(inputs: Sequence[Array]) -> list[Array]:
            live = self._need_open()  # a reference, so that it is not freed during the call
            try:
                return live.compiled.run_frame(frame, inputs)
            except DriverDiedError as death:
                self._thread.death = death
                raise

        return run

    def _find(self) -> Live:
        """Return a compilation of a live connection. Sessions may need one even after this object is closed."""
        live = self._live
        if live is not None and live.compiled.agent.is_alive:
            return live
        with self._lock:
            live = self._live
            if live is None or not live.compiled.agent.is_alive:
                live = self._make()
                self._live = None if self._is_closed else live
            return live

    def _need_open(self) -> Live:
        need(not self._is_closed, CLOSED, OpFailedError)
        return self._find()

    def _run(self, live: Live, request: Request, measure: bool) -> Outcome:
        path = live.compiled.agent.path
        shapes: list[Shape] = [tuple([n or GUESS for n in type.dimensions]) for type in self._outputs]
        for _ in range(TRIALS):
            result = live.compiled.run(request, shapes, measure=measure)
            shapes = [
                type.dimensions if shape is None else _check(path, index, type, shape)
                for index, (type, shape) in enumerate(zip(self._outputs, result.shapes, strict=True))
            ]
            if result.is_complete:
                outputs = [_cut(path, *each) for each in zip(shapes, result.buffers, strict=True)]
                return Outcome(outputs, result.hardware_ns, result.driver_ns)
        raise OpFailedError(f"{path} asks for larger outputs than it has said that they are")


def _check(path: str, index: int, declared: OperandType, shape: Shape) -> Shape:
    try:
        check_declared(declared.with_dimensions(shape), declared, is_model_output=True)
    except OpFailedError as error:
        raise OpFailedError(f"{path}: output {index} {error}") from None
    return shape


def _cut(path: str, shape: Shape, buffer: Array) -> Array:
    count = math.prod(shape)
    takes = f"{path} says that it gave {count} elements, the buffer takes {buffer.size}"
    need(count <= buffer.size, takes, OpFailedError)
    return buffer[:count].reshape(shape)
