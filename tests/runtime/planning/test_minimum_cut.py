"""Minimum cuts, compared with the best of all cuts."""

import itertools
import random

from nnapi.runtime.planning.minimum_cut import SINK, SOURCE, Network
from tests.rows import each_row


def test_a_cut_separates_at_the_cheapest_edges() -> None:
    network = Network()
    first, second = network.add_node(), network.add_node()
    network.add_edge(SOURCE, first, 5)
    network.add_edge(first, second, 2)
    network.add_edge(second, SINK, 5)
    assert network.cut() == {SOURCE, first}


def test_parallel_edges_add_up() -> None:
    network = Network()
    node = network.add_node()
    network.add_edge(SOURCE, node, 3)
    network.add_edge(node, SINK, 2)
    network.add_edge(node, SINK, 2)
    assert network.cut() == {SOURCE}


def test_without_a_path_nothing_is_cut() -> None:
    network = Network()
    node = network.add_node()
    network.add_edge(SOURCE, node, 1)
    assert network.cut() == {SOURCE, node}


@each_row("seed", range(200))
def test_no_other_cut_is_cheaper(seed: int) -> None:
    source = random.Random(seed)
    network, count = Network(), source.randint(1, 6)
    nodes = [SOURCE, SINK, *(network.add_node() for _ in range(count))]
    edges = [
        (*source.sample(nodes, 2), source.choice([0, 1, 2, 7, 10**9])) for _ in range(source.randint(1, 4 * count))
    ]
    for edge in edges:
        network.add_edge(*edge)

    def cost(side: set[int]) -> int:
        return sum(capacity for tail, head, capacity in edges if tail in side and head not in side)

    free = nodes[2:]
    sides = [{SOURCE, *chosen} for n in range(count + 1) for chosen in itertools.combinations(free, n)]
    assert cost(network.cut()) == min(map(cost, sides))


def test_a_long_chain_needs_no_recursion() -> None:
    network, nodes = Network(), [SOURCE]
    for _ in range(5000):
        nodes.append(network.add_node())
        network.add_edge(nodes[-2], nodes[-1], 2)
    network.add_edge(nodes[-1], SINK, 1)
    assert network.cut() == set(nodes)
