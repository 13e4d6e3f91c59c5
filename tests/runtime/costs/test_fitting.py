"""Figures that explain measurements."""

import pytest

from nnapi.runtime.costs.cost_tables import Cost
from nnapi.runtime.costs.fitting import fit
from nnapi.runtime.costs.workload import Element, Kind, Work

KIND = Kind.CONVOLUTION, Element.SIGNED
WORKS = [
    Work(*KIND, 4000, 1000, 1, 64, 64),
    Work(*KIND, 10_000_000, 150_000, 1, 2300, 20_700),
    Work(*KIND, 7_000_000, 59_000, 1, 780, 7000),
    Work(*KIND, 3_200_000, 79_000, 1, 196, 196),
    Work(*KIND, 800_000, 100_000, 1, 3100, 3100),
]


@pytest.mark.parametrize(
    "cost",
    [
        Cost(1e-6, 2e-12, 3e-11, 4e-9, 5e-9),
        Cost(1e-6, 2e-12, 0.0, 0.0, 5e-9),
        Cost(0.0, 2e-12, 3e-11),
        Cost(0.0, 0.0, 0.0, 0.0, 5e-9),
    ],
)
def test_exact_figures_are_found(cost: Cost) -> None:
    seconds = [3e-6 + cost.seconds(work) for work in WORKS]
    found = fit([[work] for work in WORKS], seconds, [3e-6] * len(WORKS))
    assert found == pytest.approx(cost, rel=1e-3, abs=1e-15)


def test_no_figure_is_negative() -> None:
    found = fit([[work] for work in WORKS], [1e-6, 5e-6, 9e-5, 2e-6, 7e-5], [2e-6] * len(WORKS))
    assert min(found) >= 0


def test_several_operations_of_a_sample_share_its_time() -> None:
    cost = Cost(1e-6, 2e-12, 0.0)
    works = [[work] * 3 for work in WORKS]
    assert fit(works, [3 * cost.seconds(work) for work in WORKS], [0.0] * 5) == pytest.approx(cost, rel=1e-3, abs=1e-15)
