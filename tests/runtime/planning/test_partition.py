"""The partitioner against brute force, and its promises; benchmarks/partition.py does more of it."""

import math
import random

import numpy as np
import pytest

from nnapi.runtime.planning import partition as partitioning
from nnapi.runtime.planning.partition import FORBIDDEN, HOST, Flow, Problem, partition, starting_assignments
from tests.runtime.partition_cases import best_single, cheapest, random_problem


@pytest.mark.parametrize("seed", range(6))
def test_two_devices_are_optimal(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(50):
        problem = random_problem(rng, rng.randrange(1, 13), 2)
        assignment = partition(problem)
        assert assignment is not None
        assert problem.cost(assignment) == pytest.approx(cheapest(problem), rel=1e-6)


def test_three_devices_are_near_the_optimum_and_never_worse_than_one() -> None:
    rng = random.Random(3)
    ratios = []
    for _ in range(60):
        problem = random_problem(rng, rng.randrange(1, 10), 3)
        assignment = partition(problem)
        assert assignment is not None
        cost = problem.cost(assignment)
        assert cost <= best_single(problem) * (1 + 1e-9)
        ratios.append(cost / cheapest(problem))
    assert min(ratios) > 1 - 1e-9
    assert sum(ratios) / len(ratios) < 1.05


@pytest.mark.parametrize("seed", [187, 194])
def test_of_many_devices_it_begins_with_the_best_start(seed: int) -> None:
    """Problems in which swaps from the first start end at something dearer than another start."""
    rng = random.Random(seed)
    problem = random_problem(rng, rng.randrange(1, 8), rng.choice([3, 4]))
    assignment = partition(problem)
    assert assignment is not None
    assert problem.cost(assignment) <= min(map(problem.cost, starting_assignments(problem))) * (1 + 1e-9)


def test_brute_force_counts_as_the_problem_does() -> None:
    rng = random.Random(5)
    for devices in (2, 3):
        problem = random_problem(rng, 5, devices)
        assignments = [tuple(a) for a in np.ndindex(*[devices] * 5)]
        assert cheapest(problem) == pytest.approx(min(problem.cost(a) for a in assignments))


def test_the_cost_of_an_assignment() -> None:
    flows = [Flow(None, (0,), 10), Flow(0, (1, 2), 20), Flow(2, (), 30, to_host=True)]
    problem = Problem([[1.0, 2.0]] * 3, flows, [5.0, 7.0], [0.1, 0.2])
    assert problem.move(flows[0], HOST, 1) == 7 + 2
    assert problem.cost((0, 0, 0)) == 3 + (5 + 1) + 3
    assert problem.cost((0, 1, 1)) == 5 + (5 + 1) + (7 + 20 * 0.3) + 6  # two readers, one move


def test_the_earlier_device_is_preferred_among_equal_costs() -> None:
    problem = Problem([[1.0, 1.0]] * 2, [Flow(0, (1,), 4)], [1.0, 1.0], [0.0, 0.0])
    assert partition(problem) == (0, 0)
    assert partition(problem._replace(order=[1, 0])) == (1, 1)


def test_a_cut_costs_between_devices_only() -> None:
    flows = [Flow(None, (0,), 10), Flow(0, (1,), 20), Flow(1, (), 30, to_host=True)]
    problem = Problem([[1.0, 1.0]] * 2, flows, [0.0, 0.0], [0.0, 0.0], 5.0, 0.1)
    assert problem.cost((0, 0)) == problem.cost((1, 1)) == 2
    assert problem.cost((0, 1)) == problem.cost((1, 0)) == 2 + 5 + 20 * 0.1


def test_one_device() -> None:
    assert partition(Problem([[1.0], [2.0]], [Flow(0, (1,), 4)], [1.0], [0.0])) == (0, 0)


def test_an_operation_that_everybody_refuses() -> None:
    problem = Problem([[1.0, 1.0], [FORBIDDEN, FORBIDDEN]], [Flow(0, (1,), 4)], [0, 0], [0, 0])
    assert partition(problem) is None


def test_a_tensor_with_many_readers_moves_once() -> None:
    # Four readers on the other device share one move: worth it at 4 × 1 saved for 3 paid, not at 4 moves.
    compute = [[1.0, FORBIDDEN]] + [[2.0, 1.0]] * 4
    flows = [Flow(0, (1, 2, 3, 4), 1)]
    assert partition(Problem(compute, flows, [0.0, 3.0], [0.0, 0.0])) == (0, 1, 1, 1, 1)
    assert partition(Problem(compute, flows, [0.0, 4.5], [0.0, 0.0])) == (0, 0, 0, 0, 0)


def test_costs_of_any_size_are_resolved() -> None:
    for unit in (1e-12, 1e-6, 1.0, 1e9):
        compute = [[1.0 * unit, 1.001 * unit], [1.001 * unit, 1.0 * unit]]
        assert partition(Problem(compute, [], [0.0, 0.0], [0.0, 0.0])) == (0, 1)


def test_hundreds_of_operations_take_one_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a network that grows with the operations and their tensors; benchmarks/partition.py says the time."""
    problem = random_problem(random.Random(0), 300, 2)
    sizes: list[tuple[int, int]] = []
    solve = partitioning._Cut.solve

    def noted(cut: partitioning._Cut) -> set[int]:
        sizes.append((len(cut._network._edges), len(cut._network._heads) // 2))
        return solve(cut)

    monkeypatch.setattr(partitioning._Cut, "solve", noted)
    assignment = partition(problem)
    ((nodes, edges),) = sizes
    readers = sum(len(flow.consumers) for flow in problem.flows)
    assert nodes <= 2 + len(problem.compute) + 2 * len(problem.flows)
    assert edges <= 2 * len(problem.compute) + 2 * (2 * len(problem.flows) + readers)
    assert assignment is not None
    assert problem.cost(assignment) < best_single(problem) < math.inf
