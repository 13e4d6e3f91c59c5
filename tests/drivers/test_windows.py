"""Parameters of sliding windows for engines."""

from nnapi.drivers.windows import WIDEST, limit_steps, too_wide

MOST = 2**31 - 1


def test_too_wide_says_how_wide() -> None:
    assert too_wide(((0, 0), (WIDEST, 3))) == ""
    assert too_wide(((0, MOST), (0, 0))).startswith(f"{MOST} cells of padding are more than")


def test_numbers_that_mean_nothing_become_small() -> None:
    stride, dilation = limit_steps((5, 9), (3, 1), (MOST, 2), ((1, 1), (0, 0)), (2, MOST))
    assert stride == (7, 2)
    assert dilation == (2, 1)
