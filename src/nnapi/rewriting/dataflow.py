"""The data flow of a graph: the node that makes each value, the nodes that read it, and those that results need."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, Generic, Protocol, TypeVar


class Node(Protocol):
    @property
    def inputs(self) -> Sequence[Any]: ...
    @property
    def outputs(self) -> Sequence[Any]: ...


N = TypeVar("N", bound=Node)


def find_makers(nodes: Iterable[N]) -> dict[Any, N]:
    return {value: node for node in nodes for value in node.outputs}


def find_readers(nodes: Iterable[N]) -> defaultdict[Any, list[N]]:
    """Return the nodes that read each value, in their order; a node that reads a value twice is listed once."""
    readers = defaultdict(list)
    for node in nodes:
        for value in dict.fromkeys(node.inputs):
            readers[value].append(node)
    return readers


def select_needed(
    nodes: Sequence[N], results: Iterable[Any], read: Callable[[N], Iterable[Any]] = attrgetter("inputs")
) -> list[N]:
    """Return the nodes that results depend on. ``nodes`` are in topological order; ``read`` lists what one reads."""
    needed = set(results)
    selected = []
    for node in reversed(nodes):
        if not needed.isdisjoint(node.outputs):
            needed.update(read(node))
            selected.append(node)
    return selected[::-1]


class Dataflow(Generic[N]):
    """The maker of each value, and the number of times that nodes and results read it."""

    def __init__(self, nodes: Sequence[N], results: Iterable[Any]) -> None:
        self.makers = find_makers(nodes)
        self.reads = Counter(value for node in nodes for value in node.inputs)
        self.reads.update(results)

    def find_only_maker(self, value: Any) -> N | None:
        """Return the maker of a value that is read once; None for other values."""
        return self.makers.get(value) if self.reads[value] == 1 else None
