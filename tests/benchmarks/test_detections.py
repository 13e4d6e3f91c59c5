"""Detections are the same in another order, and differ by one box, label, score or mask."""

from typing import Any

import numpy as np
import pytest

from benchmarks.detections import compare

BOXES = np.array([[0, 0, 10, 10], [5, 5, 90, 80], [20, 20, 20, 60]], np.float32)
FOUND = [BOXES, np.array([0.9, 0.8, 0.7], np.float32), np.array([1, 2, 1]), np.eye(3, dtype=np.float32)]


def changed(position: int, index: Any, number: float) -> list[Any]:
    found = [each.copy() for each in FOUND]
    found[position][index] = number
    return found


def test_the_order_does_not_matter() -> None:
    assert compare([each[[2, 0, 1]] for each in FOUND], FOUND) == "same boxes"


def test_rounding_does_not_matter() -> None:
    assert compare([each + 1e-6 if each.dtype == np.float32 else each for each in FOUND], FOUND) == "same boxes"


@pytest.mark.parametrize(
    "ours",
    [changed(0, (1, 0), 6), changed(0, (2, 3), 61), changed(1, 1, 0.79), changed(2, 0, 3), changed(3, (0, 1), 0.5)],
    ids=["box", "box without an area", "score", "label", "mask"],
)
def test_one_difference_counts(ours: list[Any]) -> None:
    assert compare(ours, FOUND) == "1 of 3 boxes are missing, 1 are others"


def test_numbers_of_boxes_may_differ() -> None:
    assert compare([each[:2] for each in FOUND], FOUND) == "1 of 3 boxes are missing, 0 are others"
    assert compare([each[:0] for each in FOUND[:3]], [each[:0] for each in FOUND[:3]]) == "same boxes"
