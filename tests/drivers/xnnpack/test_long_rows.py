"""How many values lie in a row."""

import pytest

from nnapi.drivers.xnnpack.long_rows import count_row


@pytest.mark.parametrize(
    ("shape", "axes", "count"),
    [((2, 3, 4), [2], 4), ((2, 3, 4), [1], 1), ((2, 3, 4), [0, 2], 4), ((2, 3, 4), [1, 2], 12), ((2, 3, 1, 1), [1], 3)],
)
def test_what_lies_in_a_row_is_counted(shape: tuple[int, ...], axes: list[int], count: int) -> None:
    assert count_row(shape, axes) == count
