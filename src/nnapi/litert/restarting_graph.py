"""A subgraph with state that most programs begin anew before each run.

What takes states in and gives them back is slower, several times for cells in integers, than what begins at a state
that is known. So the first run after a reset is of the latter kind. Who then goes on without a reset gets that run
repeated by the former, which knows what state it left, and goes on with it until the next reset.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from nnapi.litert.ready_graph import ReadyGraph
from nnapi.model.operand import Array


class RestartingGraph:
    """As a :class:`ReadyGraph`: ``fresh`` begins anew at every run; what keeps its state is made when needed."""

    def __init__(self, fresh: ReadyGraph, make_lasting: Callable[[], ReadyGraph]) -> None:
        self._fresh, self._make_lasting = fresh, make_lasting
        self._lasting: ReadyGraph | None = None
        self._first: dict[int, Array] | None = None
        """The inputs of the run after the last reset, while it is the only one since."""
        self._goes_on = False
        self.inputs, self.places, self.results = fresh.inputs, fresh.places, fresh.results
        self.run: Callable[[], list[Array]] = self._run

    def reset(self) -> None:
        """Let variables begin anew."""
        self._first, self._goes_on = None, False

    def explain(self) -> str:
        return self._fresh.explain()

    def close(self) -> None:
        for graph in filter(None, (self._fresh, self._lasting)):
            graph.close()

    def _run(self) -> list[Array]:
        if self._first is None and not self._goes_on:
            results = self._fresh.run()
            self._first = {index: array.copy() for index, array in self.inputs.items()}
            return results
        if self._lasting is None:
            self._lasting = self._make_lasting()
        if self._first is not None:
            self._lasting.reset()
            _run_on(self._lasting, self._first)
            self._first, self._goes_on = None, True
        return _run_on(self._lasting, self.inputs)


def _run_on(graph: ReadyGraph, inputs: Mapping[int, Array]) -> list[Array]:
    for index, array in inputs.items():
        graph.inputs[index][...] = array
    return graph.run()
