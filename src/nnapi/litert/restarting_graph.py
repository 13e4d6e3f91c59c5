"""A subgraph with state that most programs reset before each run. Integer cells that read and write states are several
times slower than those that begin at a known state. So the first run after a reset uses the fast compilation; the next
one repeats it with the slow compilation, and continues with that until the next reset."""

from collections.abc import Callable, Mapping

from nnapi.litert.ready_graph import ReadyGraph
from nnapi.model.operand import Array


class RestartingGraph:
    """As a :class:`ReadyGraph`: ``fresh`` resets at every run; the one that keeps state is made on demand."""

    def __init__(self, fresh: ReadyGraph, make_lasting: Callable[[], ReadyGraph]) -> None:
        self._fresh, self._make_lasting = fresh, make_lasting
        self._lasting: ReadyGraph | None = None
        self._first: dict[int, Array] | None = None
        """The inputs of the run after the last reset, while it is the only one since."""
        self._goes_on = False
        self.inputs, self.positions, self.results = fresh.inputs, fresh.positions, fresh.results
        self.run: Callable[[], list[Array]] = self._run

    @property
    def devices(self) -> set[str]:
        return self._fresh.devices

    def reset(self) -> None:
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
