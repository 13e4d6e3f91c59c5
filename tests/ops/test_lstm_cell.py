"""Parts of the LSTM cell; the whole is tested with the operations."""

import numpy as np

from nnapi.ops.lstm_cell import clip, normalize


def test_rows_are_normalized() -> None:
    rows = np.array([[1, 3], [10, 20], [7, 7]], np.float32)
    np.testing.assert_allclose(normalize(rows), [[-1, 1], [-1, 1], [0, 0]], rtol=1e-6)


def test_small_differences_are_not_blown_up() -> None:
    """A variance of 1e-8, as much as is added to it; results follow it without a step."""
    rows = np.array([[-1e-4, 1e-4], [-1e-6, 1e-6]], np.float32)
    np.testing.assert_allclose(normalize(rows), [[-(0.5**0.5), 0.5**0.5], [-1e-2, 1e-2]], rtol=1e-4)


def test_a_clip_of_zero_does_not_clip() -> None:
    x = np.array([-2, 0.5, 2], np.float32)
    np.testing.assert_array_equal(clip(x, 1.0), np.array([-1, 0.5, 1], np.float32))
    np.testing.assert_array_equal(clip(x, 0.0), x)
