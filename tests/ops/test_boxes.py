"""Geometry of boxes and greedy suppression."""

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from nnapi.errors import OpFailedError
from nnapi.model.operand import tensor
from nnapi.ops import boxes as b
from tests.ops.detection_cases import Race, overlap


def array(*rows: Any) -> Any:
    return np.array(rows, np.float32)


def test_overlap_of_two_boxes() -> None:
    # 10 × 10 and 10 × 10, shifted by 5: they share 5 × 10 of 150.
    assert b.iou(array(0, 0, 10, 10), array(5, 0, 15, 10)) == pytest.approx(1 / 3)
    assert b.iou(array(0, 0, 10, 10), array(10, 0, 20, 10)) == 0
    assert b.iou(array(2, 3, 4, 9), array(2, 3, 4, 9)) == 1


def test_overlap_of_boxes_without_area_is_no_number() -> None:
    with np.errstate(invalid="ignore"):
        assert np.isnan(b.iou(array(1, 1, 1, 1), array(2, 2, 2, 5)))


def test_transform_moves_by_its_size_and_stretches() -> None:
    # A box of 10 × 20 around (15, 30): right by half its width, down by a quarter of its height, twice as wide.
    box = b.transform(array(10, 20, 20, 40), array(0.5, 0.25, np.log(2), 0), array(100, 100))
    np.testing.assert_allclose(box, [10, 25, 30, 45], rtol=1e-6)


def test_transform_clips_to_height_and_width() -> None:
    box = b.transform(array(10, 20, 90, 90), array(0, 0, 1, 1), array(50, 80))
    np.testing.assert_array_equal(box, [0, 0, 80, 50])


def test_suppress_runs_each_race_by_itself() -> None:
    boxes = array([0, 0, 10, 10], [0, 0, 10, 9], [20, 0, 30, 10])
    scores = array([0.5, 0.9, 0.1], [0.9, 0.5, 0.1])
    everyone = np.ones(scores.shape, bool)
    _, taken = b.suppress(scores, boxes, everyone, b.drop_overlapping(0.5), -1)
    np.testing.assert_array_equal(taken, [[False, True, True], [True, False, True]])
    _, taken = b.suppress(scores, boxes, everyone, b.drop_overlapping(0.5), 1)
    np.testing.assert_array_equal(taken, [[False, True, False], [True, False, False]])
    _, taken = b.suppress(scores, boxes, everyone, b.drop_overlapping(0.5), 0)
    assert not taken.any()


def test_suppress_takes_the_first_of_equals_and_only_candidates() -> None:
    boxes = array([0, 0, 10, 10], [0, 0, 10, 10], [0, 0, 10, 10])
    _, taken = b.suppress(array(0.9, 0.5, 0.5), boxes, np.array([False, True, True]), b.drop_overlapping(0.5), -1)
    np.testing.assert_array_equal(taken, [False, True, False])


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 3), st.integers(1, 8), st.integers(-1, 4), st.sampled_from([0.2, 0.37, 0.61]), st.randoms())
def test_suppress_is_greedy(races: int, count: int, limit: int, threshold: float, random: Any) -> None:
    scores = np.array([random.sample(range(1, 100), count) for _ in range(races)], np.float32)
    corners = np.array([[random.randrange(8) for _ in range(4)] for _ in range(count)])
    boxes = np.concatenate([corners[:, :2], corners[:, :2] + 1 + corners[:, 2:]], -1).astype(np.float32)
    _, taken = b.suppress(scores, boxes, np.ones(scores.shape, bool), b.drop_overlapping(threshold), limit)
    for row, chosen in zip(scores, taken, strict=True):
        race = Race()
        factor = lambda shared: 0 if shared >= threshold else 1  # noqa: E731
        found = race.run(dict(enumerate(row.tolist())), boxes.tolist(), limit, factor, 0.5, threshold)
        assume(race.margin > 1e-4)
        assert set(np.flatnonzero(chosen)) == {i for i, _ in found}


def test_sort_by_score_puts_taken_ones_first() -> None:
    order = b.sort_by_score(array(0.1, 0.9, 0.5, 0.7), np.array([True, False, True, True]))
    assert order.tolist()[:3] == [3, 2, 0]


def test_overlap_of_the_cases_is_that_of_the_kernels() -> None:
    first, second = [0, 0, 4, 6], [1, 2, 9, 5]
    assert overlap(first, second) == pytest.approx(float(b.iou(array(*first), array(*second))))


def test_refusals() -> None:
    with pytest.raises(OpFailedError, match=r"rois \[1\] is \[5.0, 0.0, 4.0, 9.0\], must not end before it starts"):
        b.check_upright("rois", array([0, 0, 1, 1], [5, 0, 4, 9]))
    with pytest.raises(OpFailedError, match=r"batch_index holds 2, must be in \[0, 2\)"):
        b.check_images(np.array([0, 2]), 2)
    with pytest.raises(OpFailedError, match=r"batch_index holds -1"):
        b.check_images(np.array([-1]), 2)
    b.check_eighths(rois=tensor("float32", (1, 4)), boxes=tensor("quant16_asymm", (1, 4), 0.125))
    with pytest.raises(OpFailedError, match=r"boxes has scale 0.25 and zero point 3, must have 0.125 and 0"):
        b.check_eighths(boxes=tensor("quant16_asymm", (1, 4), 0.25, 3))
