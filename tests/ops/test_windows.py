"""Windows along one axis."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nnapi.ops.windows import reduce_windows, taps
from tests.ops.tensor_cases import quickly


def test_literal() -> None:
    found = [(k, to.start, to.stop, of.start, of.stop, of.step) for k, (to, of) in taps(5, 3, 2, 1, 3)]
    assert found == [(0, 1, 3, 1, 4, 2), (1, 0, 3, 0, 5, 2), (2, 0, 2, 1, 4, 2)]


def test_sums() -> None:
    x = np.arange(1, 6)
    assert reduce_windows(np.add, x, 0, 3, 2, 1, 3, 0).tolist() == [3, 9, 9]
    assert reduce_windows(np.maximum, -x, 0, 3, 2, 1, 3, -99).tolist() == [-1, -2, -4]


small = st.integers(1, 4)


@quickly
@given(st.integers(1, 8), small, small, st.integers(0, 5), st.integers(0, 6))
def test_pairs_every_cell_that_a_window_meets(dimension: int, size: int, stride: int, before: int, out: int) -> None:
    expected = {
        (k, window, cell)
        for k in range(size)
        for window in range(out)
        if 0 <= (cell := window * stride + k - before) < dimension
    }
    found = [
        (k, window, cell)
        for k, (to, of) in taps(dimension, size, stride, before, out)
        for window, cell in zip(range(out)[to], range(dimension)[of], strict=True)
    ]
    assert len(found) == len(expected)
    assert set(found) == expected


def test_positions_that_meet_nothing_are_not_looked_for() -> None:
    most = 2**31 - 1
    assert [k for k, _ in taps(5, most, 1, most // 2, 5)] == list(range(most // 2 - 4, most // 2 + 5))
