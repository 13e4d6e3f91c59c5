"""Runs of a graph with states, which most programs reset before each run.

Integer cells that read and write states are several times slower than cells that begin at a known state. So the first
run after a reset uses a fast compilation without states. If another run follows, a slow compilation with states first
repeats that run, then continues until the next reset.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from nnapi.model.operand import Array

R = TypeVar("R")


class OnDemand(Generic[R]):
    """Makes an object at its first use. Its owner and functions that the owner keeps share it, without a reference to
    the owner, which would leave all to the garbage collector."""

    def __init__(self, make: Callable[[], R]) -> None:
        self._make = make
        self.made: R | None = None

    def get(self) -> R:
        if self.made is None:
            self.made = self._make()
        return self.made


class StatefulRun(NamedTuple, Generic[R]):
    """The slow compilation: a function that resets its states, and one that runs it on the bound inputs."""

    reset: Callable[[], None]
    run: Callable[[], R]


class Restarting(Generic[R]):
    """Chooses between the two compilations at each run. ``R`` is the type of the results."""

    def __init__(self) -> None:
        self._first: list[Array] | None = None
        """Copies of the first inputs after a reset, until the next run."""

    def bind(
        self, inputs: Sequence[Array], begin: Callable[[], R], make_stateful: Callable[[], StatefulRun[R]]
    ) -> None:
        """Set the inputs of later runs; ``begin`` runs the fast compilation, ``make_stateful`` makes the slow one."""
        self._inputs, self._begin, self._make_stateful = inputs, begin, make_stateful
        self._stateful: StatefulRun[R] | None = None

    def run(self, *, is_reset: bool, is_untouched: bool = True) -> R:
        """Run the fast compilation if ``is_reset``, else the slow one. If the last run was fast, first repeat it with
        the slow one, unless the program has written to the states since."""
        if is_reset:
            results = self._begin()
            self._first = [array.copy() for array in self._inputs]
            return results
        stateful = self._stateful = self._stateful or self._make_stateful()
        if self._first is not None and is_untouched:
            now = [array.copy() for array in self._inputs]
            stateful.reset()
            copy_to(self._inputs, self._first)
            stateful.run()
            copy_to(self._inputs, now)
        self._first = None
        return stateful.run()


def copy_to(targets: Iterable[Array], arrays: Iterable[Array]) -> None:
    for target, array in zip(targets, arrays, strict=True):
        np.copyto(target, array)
