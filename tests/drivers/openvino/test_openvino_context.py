"""Indices that OpenVINO does not check."""

import numpy as np
import pytest

pytest.importorskip("openvino", reason="OpenVINO is not installed")

from nnapi.drivers.openvino.context import Bounds
from nnapi.ops.index_checks import BadIndexError


def unsigned(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int32).view(np.uint32)


@pytest.mark.parametrize(
    ("least", "indices"), [(0, (0, 9)), (0, (3,)), (-10, (-10, 0, 9)), (1, (1, 9)), (-3, (-3, -1))]
)
def test_indices_in_range_pass(least: int, indices: tuple[int, ...]) -> None:
    Bounds(0, "indices", 10, least).check(unsigned(*indices))


@pytest.mark.parametrize(
    ("least", "indices", "said"),
    [
        (0, (0, 10), r"indices are in 0\.\.10, must be in 0\.\.9"),
        (0, (-1, 3), r"indices are in -1\.\.3, must be in 0\.\.9"),
        (-10, (-11, 0), r"indices are in -11\.\.0, must be in -10\.\.9"),
        (-10, (0, 10), r"indices are in 0\.\.10, must be in -10\.\.9"),
        (1, (0, 5), r"indices are in 0\.\.5, must be in 1\.\.9"),
    ],
)
def test_indices_out_of_range_are_refused(least: int, indices: tuple[int, ...], said: str) -> None:
    with pytest.raises(BadIndexError, match=said):
        Bounds(0, "indices", 10, least).check(unsigned(*indices))


def test_indices_begin_at_0_by_default() -> None:
    Bounds(0, "indices", 1).check(unsigned(0))


@pytest.mark.parametrize(("column", "limit"), [(0, 3), (1, 8)])
def test_one_column_of_the_indices_is_checked(column: int, limit: int) -> None:
    numbers = unsigned(0, 7, 2, 5)
    Bounds(0, "indices", limit, 0, column, 2).check(numbers)
    with pytest.raises(BadIndexError, match=rf"must be in 0\.\.{limit - 2}"):
        Bounds(0, "indices", limit - 1, 0, column, 2).check(numbers)
