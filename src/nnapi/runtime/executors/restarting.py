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


class StatefulRun(NamedTuple, Generic[R]):
    """The slow compilation: how to reset its states, and how to run it on the same inputs."""

    reset: Callable[[], None]
    run: Callable[[], R]


class Restarting(Generic[R]):
    """Chooses the compilation of each run. ``R`` is the type of the results."""

    def __init__(self) -> None:
        self._first: list[Array] | None = None
        """The inputs of the run after the last reset, while it is the only one since."""

    def bind(
        self, inputs: Sequence[Array], begin: Callable[[], R], make_stateful: Callable[[], StatefulRun[R]]
    ) -> None:
        """Run on these inputs from now on; ``begin`` runs the fast compilation."""
        self._inputs, self._begin, self._make_stateful = inputs, begin, make_stateful
        self._stateful: StatefulRun[R] | None = None

    def run(self, *, is_reset: bool, is_untouched: bool = True) -> R:
        """Run without states if they were reset since the last run, else with them. If the last run had none, first
        repeat it with states, unless the program has changed them since."""
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
