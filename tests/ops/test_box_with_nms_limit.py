"""BOX_WITH_NMS_LIMIT."""

import math
from itertools import groupby, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import OpFailedError
from nnapi.model.operand import tensor
from tests.ops.detection_cases import FAMILIES, Race, assert_close, stored
from tests.single import run_single, scalar

CODE = OperationCode.BOX_WITH_NMS_LIMIT
HARD, LINEAR, GAUSSIAN = range(3)


def run(
    family: Any,
    scores: Any,
    boxes: Any,
    batch_index: Any,
    *,
    above: Any = 0.0,
    limit: Any = -1,
    kernel: Any = HARD,
    iou: Any = 0.375,
    sigma: Any = 0.5,
    floor: Any = 0.0,
) -> Any:
    shapes = [np.shape(value) for value in (scores, boxes, batch_index)]
    types = [family.of(*shapes[0]), family.box(*shapes[1]), tensor("int32", shapes[2])]
    inputs = [(type, stored(type, x)) for type, x in zip(types, (scores, boxes, batch_index), strict=True)]
    integers = [scalar(OperandCode.INT32, value) for value in (limit, kernel)]
    thresholds = [scalar(family.scalar, value) for value in (iou, sigma, floor)]
    outputs = [family.of(0), family.box(0, 4), tensor("int32", (0,)), tensor("int32", (0,))]
    return outputs, run_single(CODE, [*inputs, scalar(family.scalar, above), *integers, *thresholds], outputs)


# Three boxes of 10 × 10: the second covers 9/11 of the first two together, the third none. One class and background.
SCORES = [[0.5, 0.5], [0.5, 0.75], [0.5, 0.25]]
BOXES = [[0, 0, 1, 1, 0, 0, 10, 10], [0, 0, 1, 1, 1, 0, 11, 10], [0, 0, 1, 1, 20, 0, 30, 10]]


def test_hard_literal() -> None:
    _, (scores, boxes, classes, batches) = run(FAMILIES["float32"], SCORES, BOXES, [4, 4, 4], floor=0.0625)
    np.testing.assert_array_equal(scores, [0.75, 0.25])
    np.testing.assert_array_equal(boxes, [[1, 0, 11, 10], [20, 0, 30, 10]])
    assert classes.tolist() == [1, 1]
    assert batches.tolist() == [4, 4]


@pytest.mark.parametrize(("kernel", "factor"), [(LINEAR, 2 / 11), (GAUSSIAN, math.exp(-((9 / 11) ** 2) / 0.5))])
def test_soft_literal(kernel: int, factor: float) -> None:
    _, (scores, boxes, _, _) = run(FAMILIES["float32"], SCORES, BOXES, [0, 0, 0], kernel=kernel)
    np.testing.assert_allclose(scores, [0.75, 0.25, 0.5 * factor], rtol=1e-6)
    assert boxes[:, 0].tolist() == [1, 20, 0]


def test_weakened_to_the_floor_is_still_in() -> None:
    _, (scores, _, _, _) = run(FAMILIES["float32"], SCORES, BOXES, [0, 0, 0], floor=0.0)
    assert scores.tolist() == [0.75, 0.25, 0]


def test_score_threshold_is_exclusive_and_the_limit_is_for_each_image() -> None:
    _, (scores, _, _, batches) = run(FAMILIES["float32"], SCORES, BOXES, [0, 1, 1], above=0.25, iou=1.0)
    assert (scores.tolist(), batches.tolist()) == ([0.5, 0.75], [0, 1])
    _, (scores, _, _, batches) = run(FAMILIES["float32"], SCORES, BOXES, [7, 3, 3], limit=1, iou=1.0)
    assert (scores.tolist(), batches.tolist()) == ([0.5, 0.75], [7, 3])
    _, (scores, boxes, classes, batches) = run(FAMILIES["float32"], SCORES, BOXES, [0, 0, 0], limit=0)
    assert [out.shape for out in (scores, boxes, classes, batches)] == [(0,), (0, 4), (0,), (0,)]


def test_the_limit_takes_the_best_of_all_classes_and_lists_them_by_class() -> None:
    scores = [[0, 0.25, 0.75, 0.5]]
    _, (kept, boxes, classes, _) = run(FAMILIES["float32"], scores, [np.repeat(range(4), 4)], [0], limit=2)
    assert (kept.tolist(), classes.tolist(), boxes[:, 0].tolist()) == ([0.75, 0.5], [2, 3], [2, 3])


def expected(
    scores: Any,
    boxes: Any,
    batch_index: Any,
    above: Any,
    limit: Any,
    kernel: Any,
    iou: Any,
    sigma: Any,
    floor: Any,
) -> Any:
    """The definition, box by box; also how near any comparison was."""
    factors = {
        HARD: lambda shared: 1.0 if shared < iou else 0.0,
        LINEAR: lambda shared: 1.0 if shared < iou else 1 - shared,
        GAUSSIAN: lambda shared: math.exp(-shared * shared / sigma),
    }
    race, rows = Race(), []
    for image, neighbors in groupby(range(len(scores)), key=lambda i: batch_index[i]):
        members, found = list(neighbors), []
        for label in range(1, scores.shape[1]):
            candidates = {i: scores[i, label] for i in members if scores[i, label] > above}
            corners = {i: boxes[i, 4 * label : 4 * label + 4].tolist() for i in members}
            threshold = None if kernel == GAUSSIAN else iou
            for i, score in race.run(candidates, corners, limit, factors[kernel], floor, threshold):
                found.append((score, label, i, corners[i], image))
        found.sort(key=lambda row: -row[0])
        for one, other in pairwise(found):
            race.near(one[0], other[0])
        rows += sorted(found[: limit if limit >= 0 else None], key=lambda row: (row[1], -row[0]))
    return rows, race.margin


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(sorted(FAMILIES)),
    st.tuples(st.integers(1, 9), st.integers(2, 4)),
    st.sampled_from([HARD, LINEAR, GAUSSIAN]),
    st.integers(-1, 5),
    st.integers(0, 2**32),
)
def test_every_image_and_class_by_itself(kind: str, dimensions: Any, kernel: Any, limit: Any, seed: Any) -> None:
    family, (rois, classes), random = FAMILIES[kind], dimensions, np.random.default_rng(seed)
    scores = random.permutation(np.arange(-24, 124))[: rois * classes].reshape(rois, classes) / 128
    corners = random.integers(0, 16, (rois, classes, 2)) / 8
    boxes = np.concatenate([corners, corners + random.integers(8, 40, corners.shape) / 8], -1).reshape(rois, -1)
    batch_index = random.permutation(9)[np.sort(random.integers(0, 2, rois))]
    options = {"above": 0.125, "limit": limit, "kernel": kernel, "iou": 0.375, "sigma": 0.5, "floor": 0.1875}
    rows, margin = expected(scores, boxes, batch_index, *options.values())
    assume(margin > 1e-3)
    types, outputs = run(family, scores, boxes, batch_index, **options)
    assert len(outputs[0]) == len(rows)
    if rows:
        final, labels, _, chosen, images = zip(*rows, strict=True)
        assert_close(types[0], outputs[0], final, family.atol)
        assert_close(types[1], outputs[1], chosen, 0)
        assert outputs[2].tolist() == list(labels)
        assert outputs[3].tolist() == list(images)


def test_rows_that_contradict_the_declared_ones_are_refused() -> None:
    types = [tensor("float32", (3, 2)), tensor("float32", (3, 8)), tensor("int32", (3,))]
    inputs = [(type, np.array(x)) for type, x in zip(types, (SCORES, BOXES, [0, 0, 0]), strict=True)]
    integers = [scalar(OperandCode.INT32, -1), scalar(OperandCode.INT32, HARD)]
    half = scalar(OperandCode.FLOAT32, 0.5)
    outputs = [tensor("float32", (2,)), tensor("float32", (0, 4)), tensor("int32", (0,)), tensor("int32", (0,))]
    message = r"BOX_WITH_NMS_LIMIT \(#0\): gives TENSOR_FLOAT32\[1\], but the model declares TENSOR_FLOAT32\[2\]"
    with pytest.raises(OpFailedError, match=message):
        run_single(CODE, [*inputs, half, *integers, half, half, half], outputs)


def test_values_are_refused_when_computing() -> None:
    family = FAMILIES["float32"]
    with pytest.raises(OpFailedError, match="nms_kernel is 3, must be one of 0, 1, 2"):
        run(family, SCORES, BOXES, [0, 0, 0], kernel=3)
    with pytest.raises(OpFailedError, match="scores has 1 classes, must have the background and more"):
        run(family, [[0.5]], [[0, 0, 1, 1]], [0])
    with pytest.raises(OpFailedError, match=r"boxes has shape \[3, 8\], must be \[3, 12\]"):
        run(family, np.zeros((3, 3)), BOXES, [0, 0, 0])
    with pytest.raises(OpFailedError, match=r"batch_index has shape \[2\], must be \[3\]"):
        run(family, SCORES, BOXES, [0, 0])
    with pytest.raises(OpFailedError, match=r"boxes \[0, 1\] is \[0.0, 5.0, 4.0, 4.0\], must not end before it starts"):
        run(family, [[0, 0.5]], [[0, 0, 1, 1, 0, 5, 4, 4]], [0])
