"""Which plans are compared."""

import random

import pytest

from nnapi.runtime.planning.candidates import DEAR, DIVIDED, NEAR, list_candidates
from nnapi.runtime.planning.partition import FORBIDDEN, Flow, Problem, partition
from tests.runtime.partition_cases import random_problem

NO = FORBIDDEN


def line(*compute: list[float], launch: float = 0.0) -> Problem:
    """Operations one after the other."""
    count = len(compute)
    flows = [Flow(None, (0,), 0), *(Flow(i, (i + 1,), 0) for i in range(count - 1)), Flow(count - 1, (), 0, True)]
    return Problem(list(compute), flows, [launch] * len(compute[0]), [0.0] * len(compute[0]))


def test_everything_on_each_device_that_takes_it() -> None:
    assert list_candidates(line([1, 4, NO], [1, 4, 1]), (0, 0)) == [(0, 0), (1, 1)]


def test_as_much_as_possible_on_a_device_that_does_not_take_all() -> None:
    problem = line([4, 8], [NO, 2], [1, 2], [NO, 2])
    assert (0, 1, 0, 1) in list_candidates(problem, (1, 1, 1, 1))


def test_a_device_that_takes_almost_all_is_a_rival_whatever_is_predicted() -> None:
    problem = line([1, 9], [1, 9], [1, 9], [1, NO])
    assert list_candidates(problem, (0, 0, 0, 0)) == [(0, 0, 0, 0), (1, 1, 1, 0)]
    assert list_candidates(line([1, 9], [1, NO], [1, NO]), (0, 0, 0)) == [(0, 0, 0)]


def test_nothing_is_divided_where_that_is_hardly_better() -> None:
    assert list_candidates(line([10, 11], [10, 9.5]), (0, 1)) == [(0, 0), (1, 1)]
    assert list_candidates(line([10, 15], [15, 10]), (0, 1))[0] == (0, 1)


@pytest.mark.parametrize(("other", "first"), [(129, (0, 0)), (131, (0, 1))])
def test_a_division_must_save_more_than_a_seventh(other: float, first: tuple[int, ...]) -> None:
    """One device takes 229 or 231 where both together take 200: a factor of 1.15."""
    assert list_candidates(line([100, 1000], [other, 100]), (0, 1))[0] == first


@pytest.mark.parametrize(("count", "is_tried"), [(2, False), (3, True), (4, True)])
def test_a_device_that_takes_three_quarters_is_tried_whatever_it_costs(count: int, is_tried: bool) -> None:
    problem = line(*([1.0, 99.0 if index < count else NO] for index in range(4)))
    expected = (1,) * count + (0,) * (4 - count)
    assert (expected in list_candidates(problem, (0, 0, 0, 0))) is is_tried


@pytest.mark.parametrize(("other", "is_tried"), [(14.9, True), (15.1, False)])
def test_another_division_may_cost_half_as_much_again(other: float, is_tried: bool) -> None:
    """The best costs 40, the other 59.9 or 60.1, and each device alone far more."""
    problem = line([10, 500], [500, 10], [10, 500], [500, 10])
    moved = line([10, 500], [500, 10], [10, other + 15], [500, 10])
    assert len(list_candidates(problem, (0, 1, 0, 1))) == 3
    assert ((0, 1, 1, 1) in list_candidates(moved, (0, 1, 0, 1))) is is_tried


def test_a_group_is_moved() -> None:
    problem = line([1, 9], [9, 1], [1, 1.2], [9, 1])
    assert list_candidates(problem, (0, 1, 0, 1)) == [(0, 1, 0, 1), (0, 1, 1, 1), (1, 1, 1, 1), (0, 0, 0, 0)]


def test_many_problems() -> None:
    rng = random.Random(5)
    for _ in range(200):
        problem = random_problem(rng, rng.randrange(1, 12), rng.randrange(1, 4))
        best = partition(problem)
        assert best is not None
        first, *others = found = list_candidates(problem, best)
        assert len(set(found)) == len(found)
        assert best in found or len(set(first)) == 1 < len(set(best))
        assert problem.cost(first) <= NEAR * problem.cost(best)
        costs = [problem.cost(assignment) for assignment in others]
        assert costs == sorted(costs)
        assert costs[-1:] < [FORBIDDEN]
        mixed = [assignment for assignment in others if len(set(assignment)) > 1]
        assert len(mixed) <= DIVIDED
        single = min(problem.cost((device,) * len(best)) for device in problem.devices)
        dearest = min(DEAR * problem.cost(best), single / NEAR)
        assert all(problem.cost(a) < dearest or NO in map(max, problem.compute) for a in mixed)
