"""Runs of a graph with state that most programs reset before each run.

Integer cells that read and write states are several times slower than those that begin at a known state. So the first
run after a reset uses a fast compilation, which has no states. The next run repeats that run with a slow compilation,
which has them, and continues with it until the next reset.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from nnapi.model.operand import Array

R = TypeVar("R")


class Lasting(NamedTuple, Generic[R]):
    """The slow compilation: how to reset its states, and to run it on the same inputs."""

    reset: Callable[[], None]
    run: Callable[[], R]


class Restarting(Generic[R]):
    def __init__(self) -> None:
        self._first: list[Array] | None = None
        """The inputs of the run after the last reset, while it is the only one since."""

    def bind(self, inputs: Sequence[Array], begin: Callable[[], R], make_lasting: Callable[[], Lasting[R]]) -> None:
        """Run on these inputs from now on; ``begin`` runs the fast compilation."""
        self._inputs, self._begin, self._make_lasting = inputs, begin, make_lasting
        self._lasting: Lasting[R] | None = None

    def run(self, *, is_reset: bool, is_untouched: bool = True) -> R:
        """Begin anew if the states were reset since the last run; else go on, from the run before unless the program
        has touched the states."""
        if is_reset:
            results = self._begin()
            self._first = [array.copy() for array in self._inputs]
            return results
        lasting = self._lasting = self._lasting or self._make_lasting()
        if self._first is not None and is_untouched:
            now = [array.copy() for array in self._inputs]
            lasting.reset()
            copy_to(self._inputs, self._first)
            lasting.run()
            copy_to(self._inputs, now)
        self._first = None
        return lasting.run()


def copy_to(places: Iterable[Array], arrays: Iterable[Array]) -> None:
    for place, array in zip(places, arrays, strict=True):
        np.copyto(place, array)
