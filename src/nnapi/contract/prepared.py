"""Code shared by prepared models: a pool of resources, a cache per set of input shapes, deadlines."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any, Generic, TypeAlias, TypeVar

from nnapi.contract.driver import Exact, Handle, OpenOptions, Outcome, Prepared, Request
from nnapi.contract.handles import MEASURED, open_handle
from nnapi.contract.shape_cache import ShapeCache, estimate_size
from nnapi.errors import MissedDeadlinePersistentError, OpFailedError, need
from nnapi.locks import make_lock
from nnapi.model.model import Model
from nnapi.model.operand import Shape
from nnapi.trace import Section, spans

Shapes: TypeAlias = tuple[Shape | None, ...]
"""Dimensions of each model input, None for an omitted one."""
T = TypeVar("T")
P = TypeVar("P", bound=Prepared)

CLOSED = "the prepared model is closed"


def check_deadline(request: Request) -> None:
    """Raise MissedDeadlinePersistentError if the deadline has passed before the run."""
    if request.deadline is not None and time.monotonic_ns() > request.deadline:
        raise MissedDeadlinePersistentError("the time limit passed before the computation began")


class EngineTimer:
    """Measures an engine's call, which is the body of a ``with`` statement, in a trace section."""

    nanoseconds: int | None = None

    def __init__(self, section: Section = spans.NOTHING) -> None:
        self._section = section

    def __enter__(self) -> None:
        self._section.__enter__()
        self._begin = time.perf_counter_ns()

    def __exit__(self, *raised: Any) -> None:
        self.nanoseconds = time.perf_counter_ns() - self._begin
        self._section.__exit__(*raised)


class Pool(Generic[T]):
    """A pool of resources, each used by one run at a time. It grows to the largest number of concurrent runs."""

    def __init__(self, make: Callable[[], T], *idle: T) -> None:
        self._make, self._idle = make, [*idle]
        self._closed = False

    def take(self) -> T:
        try:
            return self._idle.pop()  # atomic
        except IndexError:
            need(not self._closed, CLOSED, OpFailedError)
            return self._make()

    def put(self, one: T) -> None:
        self._idle.append(one)
        if self._closed:  # maybe since this run began
            self._idle.clear()

    def close(self) -> None:
        self._closed = True
        self._idle.clear()


class PerShapes(Generic[T]):
    """A cache of objects that are made for sets of a model's input shapes, bounded by its size in bytes."""

    def __init__(self, model: Model, make: Callable[[Shapes], T]) -> None:
        self._make = make
        self._made = ShapeCache[Shapes, T](lambda shapes, made: estimate_size(model, shapes))
        self._closed = False
        self._lock = make_lock()

    def add(self, shapes: Shapes, made: T) -> None:
        self._made.keep(shapes, made)

    def get(self, shapes: Shapes) -> T:
        with self._lock:
            need(not self._closed, CLOSED, OpFailedError)
            made = self._made.get(shapes)
            if made is None:
                made = self._make(shapes)
                self._made.keep(shapes, made)
            return made

    def close(self) -> list[T]:
        """Close the cache and return its objects."""
        with self._lock:
            self._closed = True
            return self._made.clear()


class PreparedPerShapes(Generic[P]):
    """A model with dynamic dimensions or optional inputs, prepared for each set of input shapes."""

    def __init__(self, model: Model, make: Callable[[Shapes], P], assumed: Shapes, first: P | None = None) -> None:
        """``make`` prepares ``model`` for given shapes. ``first``, if given, is prepared for the ``assumed`` shapes."""
        self._prepared = PerShapes(model, make)
        if first is not None:
            self._prepared.add(assumed, first)
        self.first = self._prepared.get(assumed)
        self._latest = assumed, self.first

    def execute(self, request: Request, *, measure: bool = False) -> Outcome:
        shapes, prepared = self._latest
        given = tuple([None if array is None else array.shape for array in request.inputs])
        if given != shapes:
            prepared = self.prepare_for(given)
            self._latest = given, prepared
        if None in given:
            request = request._replace(inputs=[array for array in request.inputs if array is not None])
        return open_handle(prepared, MEASURED).execute(request) if measure else prepared.execute(request)

    def prepare_for(self, shapes: Shapes) -> P:
        return self._prepared.get(shapes)

    def open_handle(self, options: OpenOptions) -> Handle:
        """Return a handle, never with resources of its own. Prepare the model for the shapes if necessary."""
        shapes = options.shapes
        call = None if shapes is None else open_handle(self.prepare_for(tuple(shapes)), OpenOptions(shapes)).call
        return Handle(partial(self.execute, measure=True) if options.measure else self.execute, self.open_handle, call)

    @property
    def precision_refusal(self) -> str:
        return self.first.precision_refusal if isinstance(self.first, Exact) else ""

    def close(self) -> None:
        for prepared in self._prepared.close():
            prepared.close()
