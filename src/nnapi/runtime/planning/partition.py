"""The assignment of operations to devices, a pure function of costs.

An assignment costs the sum of its operations and of its moves. A tensor moves (a launch, and a transfer by size) to
every device that reads it, other than the one that wrote it. The best assignment to two devices is a minimum cut
(Stone 1977), with one node per tensor, so that its readers share a move. Assignments to more devices are improved pair
by pair (Boykov, Veksler and Zabih 2001), from the best simple assignment.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from nnapi.runtime.planning.minimum_cut import SINK, SOURCE, Network

HOST = -1
"""The pseudo-device that produces model inputs and reads model outputs."""
FORBIDDEN = math.inf
"""Cost of an operation on a device that refuses it."""
RESOLUTION = 10**9
"""The integer capacity that represents the cost of the assignment to improve."""
UNCUTTABLE = 2 * RESOLUTION

Assignment = tuple[int, ...]
"""The index of each operation's device."""


class Flow(NamedTuple):
    """A tensor that operations or the host (``producer`` None) produce; ``to_host`` for a model output."""

    producer: int | None
    consumers: tuple[int, ...]
    nbytes: int
    to_host: bool = False


class Problem(NamedTuple):
    """Costs in seconds: ``compute[operation][device]``, ``launch[device]`` per tensor that enters a device,
    ``per_byte[device]`` per byte that enters or leaves it. A tensor between two devices also costs ``cut``, and
    ``cut_byte`` per byte."""

    compute: Sequence[Sequence[float]]
    flows: Sequence[Flow]
    launch: Sequence[float]
    per_byte: Sequence[float]
    cut: float = 0.0
    cut_byte: float = 0.0
    order: Sequence[int] = ()
    """The order in which devices with equal costs are preferred; by default that of their indices."""

    @property
    def devices(self) -> Sequence[int]:
        return self.order or range(len(self.launch))

    def move(self, flow: Flow, source: int, target: int) -> float:
        """Return the seconds to move a tensor between two devices, or between a device and the host."""
        if source == target:
            return 0.0
        per_byte = sum(self.per_byte[each] for each in (source, target) if each != HOST)
        if HOST not in (source, target):
            return (per_byte + self.cut_byte) * flow.nbytes + self.launch[target] + self.cut
        return per_byte * flow.nbytes + (self.launch[target] if target != HOST else 0.0)

    def cost(self, assignment: Sequence[int]) -> float:
        """Return the seconds of an assignment; FORBIDDEN if a device refuses one of its operations."""
        total = sum(costs[device] for costs, device in zip(self.compute, assignment, strict=True))
        for flow in self.flows:
            source = HOST if flow.producer is None else assignment[flow.producer]
            targets = {assignment[consumer] for consumer in flow.consumers} | ({HOST} if flow.to_host else set())
            total += sum(self.move(flow, source, target) for target in targets)
        return total

    def floor(self) -> float:
        """Return a lower bound: each operation on its cheapest device, no moves between operations."""
        total = sum(min(costs) for costs in self.compute)
        for flow in self.flows:
            if flow.producer is None and flow.consumers:
                total += min(self.move(flow, HOST, device) for device in self.devices)
            elif flow.to_host:
                total += min(self.move(flow, device, HOST) for device in self.devices)
        return total


def partition(problem: Problem, slack: float = 1e-12) -> Assignment | None:
    """Return the cheapest assignment found; None if an operation is refused by all devices. With two devices it is
    optimal within the share ``slack`` of its cost. It is never worse than the best single device."""
    known = {assignment: problem.cost(assignment) for assignment in starting_assignments(problem)}
    best = min(known, key=known.__getitem__, default=None)
    if best is None or known[best] <= problem.floor() * (1 + slack):
        return best
    improved = True
    while improved:
        improved = False
        for pair in itertools.combinations(problem.devices, 2):
            swapped = move_between(problem, best, *pair, known[best])
            if swapped not in known:
                known[swapped] = problem.cost(swapped)
            if known[swapped] < known[best] * (1 - 1e-9):
                best, improved = swapped, len(problem.devices) > 2
    return best


def starting_assignments(problem: Problem) -> Iterable[Assignment]:
    """Yield an assignment for each device that supports all operations, then each operation's cheapest device."""
    for device in problem.devices:
        if all(costs[device] < FORBIDDEN for costs in problem.compute):
            yield (device,) * len(problem.compute)
    greedy = tuple(min(problem.devices, key=costs.__getitem__) for costs in problem.compute)
    if all(costs[device] < FORBIDDEN for costs, device in zip(problem.compute, greedy, strict=True)):
        yield greedy


def move_between(problem: Problem, assignment: Assignment, a: int, b: int, cost: float) -> Assignment:
    """Return the cheapest assignment that differs only in operations moved between devices ``a`` and ``b``; ``cost`` is
    that of the given one."""
    free = [operation for operation, device in enumerate(assignment) if device in (a, b)]
    if not free:
        return assignment
    graph = _Cut(free, cost)
    for operation in free:
        graph.choose(operation, problem.compute[operation][a], problem.compute[operation][b])
    for flow in problem.flows:
        _add_flow(graph, problem, assignment, flow, a, b)
    on_a = graph.solve()
    return tuple(
        (a if operation in on_a else b) if device in (a, b) else device for operation, device in enumerate(assignment)
    )


def _add_flow(graph: _Cut, problem: Problem, assignment: Assignment, flow: Flow, a: int, b: int) -> None:
    readers = [consumer for consumer in flow.consumers if consumer in graph.nodes]
    if flow.producer is None or flow.producer not in graph.nodes:
        source = HOST if flow.producer is None else assignment[flow.producer]
        graph.pay_if_any(readers, problem.move(flow, source, a), on_a=True)
        graph.pay_if_any(readers, problem.move(flow, source, b), on_a=False)
        return
    fixed = {assignment[consumer] for consumer in flow.consumers} - {a, b} | ({HOST} if flow.to_host else set())
    graph.choose(
        flow.producer,
        sum(problem.move(flow, a, target) for target in fixed),
        sum(problem.move(flow, b, target) for target in fixed),
    )
    graph.pay_if_any(readers, problem.move(flow, a, b), flow.producer, on_a=False)
    graph.pay_if_any(readers, problem.move(flow, b, a), flow.producer, on_a=True)


class _Cut:
    """A network whose minimum cut is an assignment: operations on the source's side run on ``a``, others on ``b``.

    An operation pays its cheaper side in any case, so only the difference becomes an edge. A tensor with one reader
    needs no node.
    """

    def __init__(self, operations: Iterable[int], bound: float) -> None:
        """``bound`` is the cost of a permitted assignment; twice this price and more counts as infinite."""
        self._network = Network()
        self.nodes = {operation: self._network.add_node() for operation in operations}
        self._on_a, self._on_b = dict.fromkeys(self.nodes, 0), dict.fromkeys(self.nodes, 0)
        self._unit = RESOLUTION / max(bound, 1e-300)

    def choose(self, operation: int, on_a: float, on_b: float) -> None:
        self._on_a[operation] += self._scale(on_a)
        self._on_b[operation] += self._scale(on_b)

    def pay_if_any(self, readers: Sequence[int], price: float, writer: int | None = None, *, on_a: bool) -> None:
        """Add ``price`` once if any reader is on the given side and the writer, if any, on the other."""
        if not readers or not price:
            return
        if len(readers) == 1:
            (reader,) = readers
            if writer is None:
                self.choose(reader, *((price, 0.0) if on_a else (0.0, price)))
            else:
                tail, head = (reader, writer) if on_a else (writer, reader)
                self._network.add_edge(self.nodes[tail], self.nodes[head], self._scale(price))
            return
        node, other = self._network.add_node(), SINK if on_a else SOURCE
        edges = [(other if writer is None else self.nodes[writer], node, price)]
        edges += [(node, self.nodes[reader], FORBIDDEN) for reader in readers]
        for tail, head, cost in edges:
            self._network.add_edge(*((head, tail) if on_a else (tail, head)), self._scale(cost))

    def solve(self) -> set[int]:
        for operation, node in self.nodes.items():
            if dearer := self._on_b[operation] - self._on_a[operation]:
                self._network.add_edge(*((SOURCE, node) if dearer > 0 else (node, SINK)), abs(dearer))
        reached = self._network.cut()
        return {operation for operation, node in self.nodes.items() if node in reached}

    def _scale(self, price: float) -> int:
        return round(min(price * self._unit, UNCUTTABLE))
