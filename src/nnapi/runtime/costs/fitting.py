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

RIDGE = 1e-12
"""What is added to the squares of columns, each 1 in all, so that those that samples do not tell apart share alike."""


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
    scales = np.sqrt((rows**2).sum(0))
    present = np.flatnonzero(scales)
    rows = rows[:, present] / scales[present]
    squares, sums = rows.T @ rows + RIDGE * np.eye(len(present)), rows.T @ shares
    best, least = np.zeros(len(present)), np.inf
    for number in range(1, min(rows.shape) + 1):
        chosen = np.array([*itertools.combinations(range(len(present)), number)])
        figures = np.zeros((len(chosen), len(present)))
        solved = np.linalg.solve(squares[chosen[:, :, None], chosen[:, None, :]], sums[chosen][..., None])
        np.put_along_axis(figures, chosen, solved[..., 0], axis=1)
        errors = ((figures @ rows.T - shares) ** 2).sum(1)
        errors[(figures < 0).any(1)] = np.inf
        if errors.min() < least - BETTER:
            best, least = figures[errors.argmin()], errors.min()
    found = np.zeros(len(scales))
    found[present] = best / scales[present]
    costs: list[float] = found.tolist()
    return costs
