"""Which plans are compared."""

import random

from partition_cases import random_problem

from nnapi.runtime.partition import FORBIDDEN, Flow, Problem, partition
from nnapi.runtime.rivals import DEAR, DIVIDED, NEAR, candidates

NO = FORBIDDEN


def line(*compute: list[float], launch: float = 0.0) -> Problem:
    """Operations one after the other."""
    count = len(compute)
    flows = [Flow(None, (0,), 0), *(Flow(i, (i + 1,), 0) for i in range(count - 1)), Flow(count - 1, (), 0, True)]
    return Problem(list(compute), flows, [launch] * len(compute[0]), [0.0] * len(compute[0]))


def test_everything_on_each_device_that_takes_it() -> None:
    assert candidates(line([1, 4, NO], [1, 4, 1]), (0, 0)) == [(0, 0), (0, 2), (1, 1)]


def test_as_much_as_possible_on_a_device_that_does_not_take_all() -> None:
    problem = line([4, 4.4], [NO, 2], [1, 1.1], [NO, 2])
    assert (0, 1, 0, 1) in candidates(problem, (1, 1, 1, 1))


def test_a_single_device_goes_before_a_division_that_is_hardly_better() -> None:
    assert candidates(line([10, 11], [10, 9.5]), (0, 1))[:2] == [(0, 0), (0, 1)]
    assert candidates(line([10, 15], [15, 10]), (0, 1))[0] == (0, 1)


def test_a_group_is_moved() -> None:
    problem = line([1, 9], [9, 1], [1, 1.2], [9, 1])
    assert candidates(problem, (0, 1, 0, 1)) == [(0, 1, 0, 1), (0, 1, 1, 1), (1, 1, 1, 1), (0, 0, 0, 0)]


def test_many_problems() -> None:
    rng = random.Random(5)
    for _ in range(200):
        problem = random_problem(rng, rng.randrange(1, 12), rng.randrange(1, 4))
        best = partition(problem)
        assert best is not None
        first, *others = found = candidates(problem, best)
        assert len(set(found)) == len(found)
        assert best in found or problem.cost(best) == problem.cost(first)
        assert problem.cost(first) <= NEAR * problem.cost(best)
        costs = [problem.cost(assignment) for assignment in others]
        assert costs == sorted(costs)
        assert costs[-1:] < [FORBIDDEN]
        mixed = [assignment for assignment in others if len(set(assignment)) > 1]
        assert len(mixed) <= DIVIDED
        assert all(problem.cost(assignment) <= DEAR * problem.cost(best) for assignment in mixed)
