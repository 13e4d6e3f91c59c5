"""NON_MAX_SUPPRESSION: kernel beside a plain loop and literal examples."""

from typing import Any

import numpy as np
import pytest

from nnapi.codes import OperandCode
from nnapi.errors import NnapiError
from nnapi.model.operand import tensor
from nnapi.operation_codes import CompositeCode
from tests.single import run_single, scalar

BOXES = np.array([[[0, 0, 1, 1], [0, 0, 1, 0.9], [2, 2, 3, 3], [3, 3, 2, 2]]], np.float32)
SCORES = np.array([[[0.5, 0.9, 0.8, 0.1]]], np.float32)


def run(boxes: Any, scores: Any, most: int, iou: float, score: float, centered: bool = False) -> Any:
    limits = [scalar(OperandCode.INT32, most), scalar(OperandCode.FLOAT32, iou), scalar(OperandCode.FLOAT32, score)]
    given = [(tensor(each.dtype.name, each.shape), each) for each in (boxes, scores)]
    inputs = [*given, *limits, scalar(OperandCode.BOOL, centered)]
    return run_single(CompositeCode.NON_MAX_SUPPRESSION, inputs, [tensor("int32", (0, 3))])[0]


@pytest.mark.parametrize(
    ("most", "iou", "score", "expected"),
    [(9, 0.5, 0, [1, 2]), (9, 0.95, 0, [1, 2, 0]), (1, 0.5, 0, [1]), (9, 0.5, 0.85, [1]), (0, 0.5, 0, [])],
)
def test_literal_examples(most: int, iou: float, score: float, expected: list[int]) -> None:
    assert run(BOXES, SCORES, most, iou, score).tolist() == [[0, 0, box] for box in expected]


def test_an_overlap_equal_to_the_threshold_is_not_suppressed() -> None:
    boxes = np.array([[[0, 0, 1, 1], [0, 0, 1, 0.5]]], np.float32)
    scores = np.array([[[0.5, 0.4]]], np.float32)
    assert len(run(boxes, scores, 9, 0.5, 0)) == 2
    assert len(run(boxes, scores, 9, 0.49, 0)) == 1


def select_by_loops(boxes: Any, scores: Any, most: int, iou: float, score: float) -> list[list[int]]:
    found = []
    for batch, category in np.ndindex(scores.shape[:2]):
        kept: list[int] = []
        for i in np.argsort(-scores[batch, category], kind="stable"):
            if scores[batch, category, i] <= score or len(kept) == most:
                break
            if all(_overlap(boxes[batch, i], boxes[batch, j]) <= iou for j in kept):
                kept.append(int(i))
        found += [[batch, category, i] for i in kept]
    return found


def _overlap(a: Any, b: Any) -> float:
    shared = 1.0
    for k in (0, 1):
        (low, high), (other_low, other_high) = sorted((a[k], a[k + 2])), sorted((b[k], b[k + 2]))
        shared *= max(float(min(high, other_high) - max(low, other_low)), 0)
    areas = [abs(float(box[2] - box[0]) * float(box[3] - box[1])) for box in (a, b)]
    return shared / (sum(areas) - shared)


@pytest.mark.parametrize("centered", [False, True])
def test_random_boxes_beside_loops(centered: bool) -> None:
    rng = np.random.default_rng(7)
    corners = rng.random((2, 30, 4)).astype(np.float32)
    scores = rng.random((2, 3, 30)).astype(np.float32)
    expected = select_by_loops(corners, scores, 7, 0.2, 0.3)
    given = corners
    if centered:
        first, second = corners[..., :2], corners[..., 2:]
        given = np.concatenate([(first + second) / 2, np.abs(first - second)], -1)
    assert run(given, scores, 7, 0.2, 0.3, centered).tolist() == expected


@pytest.mark.parametrize(
    ("boxes", "scores", "message"),
    [((1, 4, 3), (1, 1, 4), "boxes has 3 columns"), ((1, 4, 4), (1, 2, 5), r"scores has shape \[1, 2, 5\]")],
)
def test_shapes_that_do_not_fit(boxes: Any, scores: Any, message: str) -> None:
    with pytest.raises(NnapiError, match=message):
        run(np.zeros(boxes, np.float32), np.zeros(scores, np.float32), 1, 0.5, 0)


@pytest.mark.parametrize("most", [3, 300, 10_000])
def test_many_boxes_beside_loops(most: int) -> None:
    """More boxes than are compared at once; some overlap none, some lie in each other."""
    rng = np.random.default_rng(8)
    corners = rng.random((1, 600, 2)).astype(np.float32) * 12
    boxes = np.concatenate([corners, corners + rng.random((1, 600, 2)).astype(np.float32)], -1)
    scores = rng.random((1, 1, 600)).astype(np.float32)
    assert run(boxes, scores, most, 0.1, 0.05).tolist() == select_by_loops(boxes, scores, most, 0.1, 0.05)
