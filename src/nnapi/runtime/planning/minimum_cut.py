"""Minimum cuts of small networks (Dinic 1970, "Algorithm for solution of a problem of maximum flow in networks")."""

from collections import deque

SOURCE, SINK = 0, 1


class Network:
    """A flow network: nodes (0 is the source, 1 the sink) and edges with integer capacities."""

    def __init__(self) -> None:
        self._edges: list[list[int]] = [[], []]
        """Edges that leave each node. Edges ``e`` and ``e ^ 1`` are reverses of each other."""
        self._heads: list[int] = []
        self._residual: list[int] = []

    def add_node(self) -> int:
        self._edges.append([])
        return len(self._edges) - 1

    def add_edge(self, tail: int, head: int, capacity: int) -> None:
        for node, end, residual in ((tail, head, capacity), (head, tail, 0)):
            self._edges[node].append(len(self._heads))
            self._heads.append(end)
            self._residual.append(residual)

    def cut(self) -> set[int]:
        """Return the nodes on the source's side of a minimum cut."""
        while SINK in (levels := self._find_levels()):
            untried = [list(edges) for edges in self._edges]
            while path := self._find_path(levels, untried):
                capacity = min(self._residual[edge] for edge in path)
                for edge in path:
                    self._residual[edge] -= capacity
                    self._residual[edge ^ 1] += capacity
        return set(levels)

    def _find_levels(self) -> dict[int, int]:
        """Return each reachable node's distance from the source, over edges with residual capacity."""
        levels, waiting = {SOURCE: 0}, deque([SOURCE])
        while waiting:
            node = waiting.popleft()
            for edge in self._edges[node]:
                head = self._heads[edge]
                if self._residual[edge] and head not in levels:
                    levels[head] = levels[node] + 1
                    waiting.append(head)
        return levels

    def _find_path(self, levels: dict[int, int], untried: list[list[int]]) -> list[int]:
        """Return the edges of a path to the sink, one per level, or none. Dead ends are removed from ``untried``."""
        path: list[int] = []
        node = SOURCE
        while node != SINK:
            edges = untried[node]
            while edges and not self._advances(edges[-1], node, levels):
                edges.pop()
            if edges:
                path.append(edges[-1])
                node = self._heads[edges[-1]]
            elif path:
                node = self._heads[path.pop() ^ 1]
                untried[node].pop()
            else:
                break
        return path

    def _advances(self, edge: int, node: int, levels: dict[int, int]) -> bool:
        return self._residual[edge] > 0 and levels.get(self._heads[edge]) == levels[node] + 1
