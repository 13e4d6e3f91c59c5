"""DETECTION_POSTPROCESSING and DETECTION_POSTPROCESSING_V2."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import OpFailedError
from nnapi.model.operand import tensor
from nnapi.operation_codes import Code, CompositeCode
from tests.ops.detection_cases import FAMILIES, LEAST, Race, assert_close, stored
from tests.single import run_single, scalar

INT32, BOOL = OperandCode.INT32, OperandCode.BOOL


def run(
    family: Any,
    scores: Any,
    deltas: Any,
    anchors: Any,
    *,
    scales: Any = (1, 1, 1, 1),
    regular: bool = True,
    most: Any = 3,
    labels: Any = 1,
    each: Any = 3,
    above: Any = 0.0,
    iou: Any = 0.375,
    background: bool | None = False,
) -> Any:
    """Run the operation; if ``background`` is None, the one by scores without a background."""
    code: Code = OperationCode.DETECTION_POSTPROCESSING
    if background is None:
        code, scores = CompositeCode.DETECTION_POSTPROCESSING_V2, np.asarray(scores)[..., 1:]
    types = [family.of(*np.shape(x)) for x in (scores, deltas, anchors)]
    inputs = [(type, stored(type, x)) for type, x in zip(types, (scores, deltas, anchors), strict=True)]
    images, width = np.shape(scores)[0], most * (1 if regular else labels)
    outputs = [family.of(images, width), family.of(images, width, 4)]
    outputs += [tensor("int32", (images, width)), tensor("int32", (images,))]
    arguments = [scalar(family.scalar, scale) for scale in scales]
    arguments += [scalar(BOOL, regular), *(scalar(INT32, value) for value in (most, labels, each))]
    arguments += [scalar(family.scalar, above), scalar(family.scalar, iou)]
    arguments += [] if background is None else [scalar(BOOL, background)]
    return outputs, run_single(code, [*inputs, *arguments], outputs)


# Two anchors of 10 × 10 that overlap by 9/11 and one apart; two classes beside the background.
SCORES = [[[1, 0.5, 0.25], [1, 0.75, 0.125], [1, 0, 0.625]]]
STILL = np.zeros((1, 3, 4))
ANCHORS = [[5, 5, 10, 10], [5, 6, 10, 10], [5, 25, 10, 10]]
FIRST, SECOND, THIRD = [0, 0, 10, 10], [0, 1, 10, 11], [0, 20, 10, 30]


def test_regular_literal() -> None:
    _, (scores, boxes, classes, count) = run(FAMILIES["float32"], SCORES, STILL, ANCHORS, most=4)
    assert scores.tolist() == [[0.75, 0.625, 0.25, 0]]
    np.testing.assert_array_equal(boxes, [[SECOND, THIRD, FIRST, [0, 0, 0, 0]]])
    assert classes.tolist() == [[0, 1, 1, 0]]
    assert count.tolist() == [3]


def test_fast_literal() -> None:
    # Two labels of every box kept, of three detections asked for; labels count the background in.
    _, (scores, boxes, classes, count) = run(
        FAMILIES["float32"], SCORES, STILL, ANCHORS, regular=False, labels=2, background=True
    )
    assert scores.tolist() == [[0.75, 0.125, 0.625, 0, 0, 0]]
    np.testing.assert_array_equal(boxes, [[SECOND, SECOND, THIRD, THIRD, [0] * 4, [0] * 4]])
    assert classes.tolist() == [[1, 2, 2, 1, 0, 0]]
    assert count.tolist() == [4]


def test_fast_lists_no_more_labels_than_there_are() -> None:
    _, (scores, _, classes, count) = run(FAMILIES["float32"], SCORES, STILL, ANCHORS, regular=False, labels=3, most=1)
    assert (scores.tolist(), classes.tolist(), count.tolist()) == ([[0.75, 0.125, 0]], [[0, 1, 0]], [2])


def test_scores_without_a_background() -> None:
    several: list[dict[str, Any]] = [{"most": 4}, {"regular": False, "labels": 2}]
    for options in several:
        _, whole = run(FAMILIES["float32"], SCORES, STILL, ANCHORS, **options)
        _, found = run(FAMILIES["float32"], SCORES, STILL, ANCHORS, background=None, **options)
        assert [each.tolist() for each in found] == [each.tolist() for each in whole]
    _, (scores, *_) = run(FAMILIES["float32"], [[[1, 0.5]]], [[[0] * 4]], [[0, 0, 1, 1]], background=None, most=1)
    assert scores.tolist() == [[0.5]]


def test_each_limit() -> None:
    def listed(**options: Any) -> Any:
        outputs = run(FAMILIES["float32"], SCORES, STILL, ANCHORS, **options)[1]
        return outputs[0][0, : outputs[3][0]].tolist()

    assert listed(above=0.25) == [0.75, 0.625]
    assert listed(each=1) == [0.75, 0.625]
    assert listed(iou=1.0, most=9, each=9) == [0.75, 0.625, 0.5, 0.25, 0.125]
    assert listed(most=2) == [0.75, 0.625]


def test_deltas_are_divided_by_the_scales() -> None:
    _, (_, boxes, _, _) = run(
        FAMILIES["float32"], [[[0, 1]]], [[[2, 1, 10, -5]]], [[8, 12, 4, 2]], scales=(4, 2, 10, 5), most=1
    )
    half_height, half_width = 2 * math.e, 1 / math.e
    np.testing.assert_allclose(
        boxes, [[[10 - half_height, 13 - half_width, 10 + half_height, 13 + half_width]]], rtol=1e-6
    )


def test_a_box_may_be_finite_though_its_whole_size_is_not() -> None:
    """The other end of a box of 5.5e38 lies 2.8e38 from its center."""
    _, (_, boxes, _, _) = run(
        FAMILIES["float32"], [[[0, 1]]], [[[0, 0, 0, 90]]], [[0, 0, 1, 0.453125]], scales=(1, 1, 1, 1), most=1
    )
    half = 0.453125 * math.exp(90) / 2
    np.testing.assert_allclose(boxes, [[[-0.5, -half, 0.5, half]]], rtol=1e-5)


def expected(
    scores: Any,
    boxes: Any,
    regular: bool,
    most: Any,
    labels: Any,
    each: Any,
    above: Any,
    iou: Any,
    background: bool | None,
) -> Any:
    """The listed entries of one image (score, box, label), and how near any comparison was."""
    race = Race()

    def factor(shared: Any) -> Any:
        return 0 if shared >= iou else 1

    if regular:
        entries = []
        for label in range(1, scores.shape[1]):
            candidates = {i: score for i, score in enumerate(scores[:, label]) if score > above}
            entries += [(s, boxes[i], label) for i, s in race.run(candidates, boxes, each, factor, LEAST, iou)]
        entries.sort(key=lambda entry: -entry[0])
        entries = entries[:most]
    else:
        best = {i: max(row[1:]) for i, row in enumerate(scores) if max(row[1:]) > above}
        entries = []
        for i, _ in race.run(best, boxes, most, factor, LEAST, iou):
            ranked = sorted(range(1, scores.shape[1]), key=lambda label: -scores[i, label])
            entries += [(scores[i, label], boxes[i], label) for label in ranked[:labels]]
    return [(score, box, label - (not background)) for score, box, label in entries], race.margin


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(["float16", "float32"]),
    st.tuples(st.integers(1, 2), st.integers(1, 5), st.integers(2, 4)),
    st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 4)),
    st.booleans(),
    st.sampled_from([False, True, None]),
    st.integers(0, 2**32),
)
def test_every_image_by_itself(
    kind: str, dimensions: Any, limits: Any, regular: bool, background: bool | None, seed: Any
) -> None:
    family, random = FAMILIES[kind], np.random.default_rng(seed)
    images, cells, classes = dimensions
    scores = np.stack([random.permutation(np.arange(1, 120)) for _ in range(images)])[:, : cells * classes]
    scores = scores.reshape(dimensions) / 128
    deltas = random.integers(-16, 16, (images, cells, 5)) / 32
    anchors = np.concatenate([random.integers(0, 4, (cells, 2)), random.integers(6, 10, (cells, 2))], -1)
    scales = np.array([2, 4, 8, 1])
    center, size = anchors[:, :2] + deltas[..., :2] / scales[:2] * anchors[:, 2:], anchors[:, 2:]
    size = size * np.exp(deltas[..., 2:4] / scales[2:])
    boxes = np.concatenate([center - size / 2, center + size / 2], -1)
    options = dict(zip(("regular", "most", "labels", "each"), (regular, *limits), strict=True))
    options |= {"above": 0.25, "iou": 0.375, "background": background}
    answers = [expected(*image, *options.values()) for image in zip(scores, boxes.tolist(), strict=True)]
    assume(all(margin > 1e-3 for _, margin in answers))

    types, outputs = run(family, scores, deltas, anchors, scales=scales, **options)
    assert outputs[3].tolist() == [len(entries) for entries, _ in answers]
    for image, (entries, _) in enumerate(answers):
        columns = [np.zeros(type.shape[1:]) for type in types[:3]]
        for i, entry in enumerate(entries):
            for column, value in zip(columns, entry, strict=True):
                column[i] = value
        for type, output, column in zip(types, outputs, columns, strict=False):
            assert_close(type, output[image], column, family.atol)


def test_values_are_refused_when_computing() -> None:
    family = FAMILIES["float32"]
    for options, message in (
        ({"scales": (1, 0, 1, 1)}, "scale_x is 0.0, must be above 0"),
        ({"above": -1.0}, "score_threshold is -1.0, must not be negative"),
        ({"iou": -1.0}, "iou_threshold is -1.0, must not be negative"),
        ({"most": 0}, "max_num_detections is 0, must be above 0"),
        ({"each": 0}, "max_detections_per_class is 0, must be above 0"),
        ({"labels": 0, "regular": False}, "max_classes_per_detection is 0, must be above 0"),
    ):
        for background in (False, None):
            with pytest.raises(OpFailedError, match=message):
                run(family, SCORES, STILL, ANCHORS, background=background, **options)
    with pytest.raises(OpFailedError, match="scores has 1 classes, must have the background and more"):
        run(family, [[[1]]], [[[0] * 4]], [[0, 0, 1, 1]])
    with pytest.raises(OpFailedError, match=r"deltas has shape \[1, 3, 3\], must be \[1, 3, 4 or more\]"):
        run(family, SCORES, STILL[..., :3], ANCHORS)
    with pytest.raises(OpFailedError, match=r"anchors has shape \[2, 4\], must be \[3, 4\]"):
        run(family, SCORES, STILL, ANCHORS[:2])


def test_what_the_other_mode_limits_may_be_zero() -> None:
    assert run(FAMILIES["float32"], SCORES, STILL, ANCHORS, labels=0)[1][3].tolist() == [3]
    assert run(FAMILIES["float32"], SCORES, STILL, ANCHORS, regular=False, each=0)[1][3].tolist() == [2]
