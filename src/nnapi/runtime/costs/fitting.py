"""From what operations took to what they cost: the figures that fit measurements best."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from nnapi.model.operand import Array
from nnapi.runtime.costs.cost_tables import Cost
from nnapi.runtime.costs.workload import Work

BETTER = 1e-9
"""How much smaller the error must be for one more figure to count: the fewest that explain what was measured do."""


def fit(works: Sequence[Sequence[Work]], seconds: Sequence[float], base: Sequence[float]) -> Cost:
    """The cost of operations of a class, of which each sample has some, took so many seconds, and would have taken
    ``base`` without them.

    Errors count by their share of a sample's time.
    """
    rows = [[sum(column) for column in zip(*map(_list_columns, each), strict=True)] for each in works]
    taken = np.array(seconds)
    return Cost(*_solve(np.array(rows) / taken[:, None], 1 - np.array(base) / taken))


def _list_columns(work: Work) -> tuple[int, int, int, int, int]:
    """How much there is of what the figures of a cost are for, in their order."""
    return work.steps, work.macs, work.nbytes, work.pixels, work.places


def _solve(rows: Array, shares: Array) -> list[float]:
    """Figures of which none is negative, such that ``rows @ figures`` comes nearest to the shares."""
    count = rows.shape[1]
    best, least = np.zeros(count), np.inf
    present = [column for column in range(count) if rows[:, column].any()]
    for number in range(1, min(len(present), len(rows)) + 1):
        for columns in map(list, itertools.combinations(present, number)):
            figures = np.zeros(count)
            figures[columns] = np.linalg.lstsq(rows[:, columns], shares, rcond=None)[0]
            error = float(np.sum((rows @ figures - shares) ** 2))
            if (figures >= 0).all() and error < least - BETTER:
                best, least = figures, error
    found: list[float] = best.tolist()
    return found
