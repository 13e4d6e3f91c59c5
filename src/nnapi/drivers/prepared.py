"""What prepared models of several drivers share: one form for each set of input shapes, and a look at the clock."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from typing import Generic, TypeAlias, TypeVar

from nnapi.drivers.base import Outcome, Prepared, Request
from nnapi.errors import MissedDeadlinePersistentError
from nnapi.model.operand import Shape

Shapes: TypeAlias = tuple[Shape | None, ...]
"""The extents of a model's inputs, None for one that is omitted."""
T = TypeVar("T")
P = TypeVar("P", bound=Prepared)

SHAPES_KEPT = 4
"""Sets of shapes for which a model with open extents is kept prepared."""


def check_deadline(request: Request) -> None:
    """Raise MissedDeadlinePersistentError where the time limit has passed before the run."""
    if request.deadline is not None and time.monotonic_ns() > request.deadline:
        raise MissedDeadlinePersistentError("the time limit passed before the computation began")


class PerShapes(Generic[T]):
    """What is made for each set of shapes that comes; the last few are kept."""

    def __init__(self, make: Callable[[Shapes], T], most: int = SHAPES_KEPT) -> None:
        self._make, self._most = make, most
        self._made: OrderedDict[Shapes, T] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, shapes: Shapes, made: T) -> None:
        """Keep what there is already for those shapes."""
        self._made[shapes] = made

    def get(self, shapes: Shapes) -> T:
        with self._lock:
            made = self._made.get(shapes)
            if made is None:
                made = self._made[shapes] = self._make(shapes)
                if len(self._made) > self._most:
                    self._made.popitem(last=False)
            else:
                self._made.move_to_end(shapes)
            return made

    def clear(self) -> list[T]:
        """Forget everything, which comes back."""
        with self._lock:
            made = list(self._made.values())
            self._made.clear()
            return made


class PreparedPerShapes(Generic[P]):
    """A model whose inputs have extents, or are omitted, as only a run decides: prepared for each case."""

    def __init__(self, make: Callable[[Shapes], P], assumed: Shapes, first: P | None = None) -> None:
        """``first`` is what is prepared for the ``assumed`` shapes, if there is something already."""
        self._prepared = PerShapes(make)
        if first is not None:
            self._prepared.add(assumed, first)
        self.first = self._prepared.get(assumed)
        self._latest = assumed, self.first

    def execute(self, request: Request) -> Outcome:
        shapes, prepared = self._latest
        given = tuple([None if array is None else array.shape for array in request.inputs])
        if given != shapes:
            prepared = self.prepared_for(given)
            self._latest = given, prepared
        if None in given:
            request = replace(request, inputs=[array for array in request.inputs if array is not None])
        return prepared.execute(request)

    def prepared_for(self, shapes: Shapes) -> P:
        return self._prepared.get(shapes)

    def close(self) -> None:
        for prepared in self._prepared.clear():
            prepared.close()
