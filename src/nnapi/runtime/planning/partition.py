"""Which device runs which operation: a pure function from costs to an assignment.

The cost of an assignment is what the operations take where they are, plus, for every tensor and every device other
than its producer's that reads it, one move: a launch and a transfer by size. Charging launches to the tensors that
cross makes the best assignment to two devices a minimum cut (Stone 1977, with an auxiliary node for each tensor so
that several readers share one move); more devices are improved pair by pair until no pair can be (the swap moves
of Boykov, Veksler and Zabih 2001), starting from the best of the simpler assignments.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from nnapi.runtime.planning.minimum_cut import SINK, SOURCE, Network

HOST = -1
"""Where model inputs come from and model outputs go."""
FORBIDDEN = math.inf
"""Cost of an operation on a device that refuses it."""
RESOLUTION = 10**9
"""Steps into which the cost of the assignment to beat is divided: capacities of the flow are integers."""
UNCUTTABLE = 2 * RESOLUTION

Assignment = tuple[int, ...]
"""The device of each operation."""


class Flow(NamedTuple):
    """A tensor between operations: its producer (None: it comes from the host), its consumers, its size."""

    producer: int | None
    consumers: tuple[int, ...]
    nbytes: int
    to_host: bool = False


class Problem(NamedTuple):
    """Costs in seconds: ``compute[operation][device]``, ``launch[device]`` for each tensor that enters it and
    ``per_byte[device]`` for what enters or leaves it; ``cut`` and ``cut_byte`` come on top of both for a tensor that
    goes from device to device."""

    compute: Sequence[Sequence[float]]
    flows: Sequence[Flow]
    launch: Sequence[float]
    per_byte: Sequence[float]
    cut: float = 0.0
    cut_byte: float = 0.0

    @property
    def devices(self) -> range:
        return range(len(self.launch))

    def with_devices(self, order: Sequence[int]) -> Problem:
        """The same problem with the devices in another order."""
        return Problem(
            [[costs[device] for device in order] for costs in self.compute],
            self.flows,
            [self.launch[device] for device in order],
            [self.per_byte[device] for device in order],
            self.cut,
            self.cut_byte,
        )

    def move(self, flow: Flow, source: int, target: int) -> float:
        """Seconds to bring a tensor from one place to another."""
        if source == target:
            return 0.0
        per_byte = sum(self.per_byte[place] for place in (source, target) if place != HOST)
        if HOST not in (source, target):
            return (per_byte + self.cut_byte) * flow.nbytes + self.launch[target] + self.cut
        return per_byte * flow.nbytes + (self.launch[target] if target != HOST else 0.0)

    def cost(self, assignment: Sequence[int]) -> float:
        """Predicted seconds of an assignment; FORBIDDEN where it gives an operation to a device that refuses it."""
        total = sum(costs[device] for costs, device in zip(self.compute, assignment, strict=True))
        for flow in self.flows:
            source = HOST if flow.producer is None else assignment[flow.producer]
            targets = {assignment[consumer] for consumer in flow.consumers} | ({HOST} if flow.to_host else set())
            total += sum(self.move(flow, source, target) for target in targets)
        return total

    def floor(self) -> float:
        """Return a lower bound: each operation where it is cheapest, and nothing moved in between."""
        total = sum(min(costs) for costs in self.compute)
        for flow in self.flows:
            if flow.producer is None and flow.consumers:
                total += min(self.move(flow, HOST, device) for device in self.devices)
            elif flow.to_host:
                total += min(self.move(flow, device, HOST) for device in self.devices)
        return total


def partition(problem: Problem, slack: float = 1e-12) -> Assignment | None:
    """The cheapest assignment found; None when some operation is refused by every device.

    Exact for two devices, but for a share ``slack`` of the cost; never worse than the best single device.
    """
    candidates = list(starts(problem))
    if not candidates:
        return None
    best = candidates[0] if len(problem.devices) == 1 else min(candidates, key=problem.cost)
    if len(problem.devices) == 1 or problem.cost(best) <= problem.floor() * (1 + slack):
        return best
    improved = True
    while improved:
        improved = False
        for pair in itertools.combinations(problem.devices, 2):
            swapped = swap(problem, best, *pair)
            if problem.cost(swapped) < problem.cost(best) * (1 - 1e-9):
                best, improved = swapped, len(problem.devices) > 2
    return best


def starts(problem: Problem) -> Iterable[Assignment]:
    """Assignments to begin from: each device alone where it takes everything, and the cheapest for each operation."""
    for device in problem.devices:
        if all(costs[device] < FORBIDDEN for costs in problem.compute):
            yield (device,) * len(problem.compute)
    greedy = tuple(min(problem.devices, key=costs.__getitem__) for costs in problem.compute)
    if all(costs[device] < FORBIDDEN for costs, device in zip(problem.compute, greedy, strict=True)):
        yield greedy


def swap(problem: Problem, assignment: Assignment, a: int, b: int) -> Assignment:
    """The best assignment in which the operations now on ``a`` or ``b`` are on either, and all others stay."""
    free = [operation for operation, device in enumerate(assignment) if device in (a, b)]
    if not free:
        return assignment
    graph = _Cut(free, problem.cost(assignment))
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
        graph.pay_if_any_on_a(readers, problem.move(flow, source, a))
        graph.pay_if_any_on_b(readers, problem.move(flow, source, b))
        return
    fixed = {assignment[consumer] for consumer in flow.consumers} - {a, b} | ({HOST} if flow.to_host else set())
    graph.choose(
        flow.producer,
        sum(problem.move(flow, a, target) for target in fixed),
        sum(problem.move(flow, b, target) for target in fixed),
    )
    graph.pay_if_any_on_b(readers, problem.move(flow, a, b), writer=flow.producer)
    graph.pay_if_any_on_a(readers, problem.move(flow, b, a), writer=flow.producer)


class _Cut:
    """A network whose minimum cut is the choice: nodes on the source's side are on ``a``, the others on ``b``."""

    def __init__(self, operations: Iterable[int], bound: float) -> None:
        """``bound`` is the cost of some allowed assignment: prices above it are as good as infinite."""
        self._network = Network()
        self.nodes = {operation: self._network.add_node() for operation in operations}
        self._unit = RESOLUTION / max(bound, 1e-300)

    def choose(self, operation: int, on_a: float, on_b: float) -> None:
        """Pay ``on_a`` if the operation is on ``a``, else ``on_b``."""
        self._add_edge(self.nodes[operation], SINK, on_a)
        self._add_edge(SOURCE, self.nodes[operation], on_b)

    def pay_if_any_on_b(self, readers: Sequence[int], price: float, writer: int | None = None) -> None:
        """Pay once if any reader is on ``b`` (while the writer is on ``a``, where one is given)."""
        if readers and price:
            node = self._network.add_node()
            self._add_edge(SOURCE if writer is None else self.nodes[writer], node, price)
            for reader in readers:
                self._add_edge(node, self.nodes[reader], FORBIDDEN)

    def pay_if_any_on_a(self, readers: Sequence[int], price: float, writer: int | None = None) -> None:
        """Pay once if any reader is on ``a`` (while the writer is on ``b``, where one is given)."""
        if readers and price:
            node = self._network.add_node()
            self._add_edge(node, SINK if writer is None else self.nodes[writer], price)
            for reader in readers:
                self._add_edge(self.nodes[reader], node, FORBIDDEN)

    def solve(self) -> set[int]:
        """Return the operations on ``a`` in a cheapest assignment."""
        reached = self._network.cut()
        return {operation for operation, node in self.nodes.items() if node in reached}

    def _add_edge(self, tail: int, head: int, price: float) -> None:
        self._network.add_edge(tail, head, round(min(price * self._unit, UNCUTTABLE)))
