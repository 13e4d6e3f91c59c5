"""GENERATE_PROPOSALS."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import BadDataError, OpFailedError
from nnapi.model.operand import OperandType, tensor
from tests.ops.detection_cases import FAMILIES, LEAST, Race, assert_close, stored
from tests.single import run_single, scalar

CODE = OperationCode.GENERATE_PROPOSALS


def run(
    family: Any,
    scores: Any,
    deltas: Any,
    anchors: Any,
    image_info: Any,
    *,
    strides: Any = (4, 4),
    pre: Any = -1,
    post: Any = -1,
    iou: Any = 0.375,
    small: Any = 0.5,
    nchw: bool = False,
) -> Any:
    if nchw:
        scores, deltas = (np.asarray(x).transpose(0, 3, 1, 2) for x in (scores, deltas))
    shapes = [np.shape(value) for value in (scores, deltas, anchors, image_info)]
    types = [family.of(*shapes[0]), family.of(*shapes[1], scale=1 / 64)]
    types += [family.anchor(*shapes[2]), family.box(*shapes[3])]
    inputs = [(type, stored(type, x)) for type, x in zip(types, (scores, deltas, anchors, image_info), strict=True)]
    floats = [scalar(family.scalar, value) for value in (*strides, iou, small)]
    limits = [scalar(OperandCode.INT32, value) for value in (pre, post)]
    layout = scalar(OperandCode.BOOL, nchw)
    outputs = [family.of(0), family.box(0, 4), tensor("int32", (0,))]
    return outputs, run_single(CODE, [*inputs, *floats[:2], *limits, *floats[2:], layout], outputs)


# One row of three cells and one anchor of 8 × 8: boxes at x = 0, 4 and 8, neighbors overlap by a third.
SCORES = [[[[0.25], [0.75], [0.5]]]]
STILL = np.zeros((1, 1, 3, 4))
ANCHOR = [[0, 0, 8, 8]]


def test_literal() -> None:
    _, (scores, boxes, batches) = run(FAMILIES["float32"], SCORES, STILL, ANCHOR, [[40, 40]])
    assert scores.tolist() == [0.75, 0.5, 0.25]
    np.testing.assert_array_equal(boxes, [[4, 0, 12, 8], [8, 0, 16, 8], [0, 0, 8, 8]])
    assert batches.tolist() == [0, 0, 0]


def test_each_limit() -> None:
    def kept(**options: Any) -> Any:
        return run(FAMILIES["float32"], SCORES, STILL, ANCHOR, [[40, 40]], **options)[1][0].tolist()

    assert kept(iou=0.25) == [0.75]  # both neighbors overlap the best one by 1/3
    assert kept(pre=2) == [0.75, 0.5]
    assert kept(pre=0) == [0.75, 0.5, 0.25]
    assert kept(post=1) == [0.75]
    assert kept(post=0) == []
    assert kept(small=8) == []  # a side has to be above the least size
    # Clipped to a width of 10, the last box keeps a side of 2.
    assert run(FAMILIES["float32"], SCORES, STILL, ANCHOR, [[40, 10]], small=2, iou=0.5)[1][0].tolist() == [0.75, 0.25]
    # The center of the last box is at 16, outside.
    wide = np.array([[[[0, 0, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0]]]])
    assert run(FAMILIES["float32"], SCORES, wide, ANCHOR, [[40, 16]], small=-1)[1][0].tolist() == [0.75, 0.25]


def test_deltas_move_and_stretch_before_clipping() -> None:
    deltas = [[[[0.5, 0.25, 1, -1]]]]
    _, (_, boxes, _) = run(FAMILIES["float32"], [[[[0.5]]]], deltas, [[10, 10, 14, 18]], [[99, 99]])
    e = math.e
    np.testing.assert_allclose(boxes, [[14 - 2 * e, 16 - 4 / e, 14 + 2 * e, 16 + 4 / e]], rtol=1e-6)


def expected(
    scores: Any,
    deltas: Any,
    anchors: Any,
    image_info: Any,
    strides: Any,
    pre: Any,
    post: Any,
    iou: Any,
    small: Any,
) -> Any:
    race, rows = Race(), []
    for b, (height, width) in enumerate(image_info):
        boxes = {}
        for y, x, a in np.ndindex(scores.shape[1:]):
            x1, y1, x2, y2 = anchors[a] + np.array([x * strides[1], y * strides[0]] * 2)
            dx, dy, dw, dh = deltas[b, y, x, 4 * a : 4 * a + 4]
            cx, cy = (x1 + x2) / 2 + dx * (x2 - x1), (y1 + y2) / 2 + dy * (y2 - y1)
            w, h = (x2 - x1) * math.exp(dw), (y2 - y1) * math.exp(dh)
            edges = (cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2)
            boxes[y, x, a] = [min(max(v, 0), limit) for v, limit in zip(edges, (width, height) * 2, strict=True)]
        best = sorted(boxes, key=lambda cell: -scores[b][cell])[: pre if pre > 0 else None]
        candidates = {}
        for cell in best:
            x1, y1, x2, y2 = boxes[cell]
            for value, limit in ((x2 - x1, small), (y2 - y1, small), ((x1 + x2) / 2, width), ((y1 + y2) / 2, height)):
                race.near(value, limit)
            if min(x2 - x1, y2 - y1) > small and x1 + x2 < 2 * width and y1 + y2 < 2 * height:
                candidates[cell] = scores[b][cell]
        for cell, score in race.run(candidates, boxes, post, lambda shared: 0 if shared >= iou else 1, LEAST, iou):
            rows.append((score, boxes[cell], b))
    return rows, race.margin


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(sorted(FAMILIES)),
    st.tuples(*[st.integers(1, 2)] * 4),
    st.integers(-1, 6),
    st.integers(-1, 6),
    st.booleans(),
    st.integers(0, 2**32),
)
def test_every_image_by_itself(kind: str, dimensions: Any, pre: Any, post: Any, nchw: bool, seed: Any) -> None:
    family, random = FAMILIES[kind], np.random.default_rng(seed)
    images, height, width, count = dimensions
    scores = np.stack([random.permutation(np.arange(1, 120)) for _ in range(images)])[:, : height * width * count]
    scores = scores.reshape(dimensions) / 128
    deltas = random.integers(-48, 48, (images, height, width, count * 4)) / 64
    start = random.integers(0, 16, (count, 2)) / 8
    anchors = np.concatenate([start, start + random.integers(40, 80, start.shape) / 8], -1)
    image_info = random.integers(12, 24, (images, 2))
    options = {"strides": (4, 3), "pre": pre, "post": post, "iou": 0.375, "small": 1.75}
    rows, margin = expected(scores, deltas, anchors, image_info, *options.values())
    assume(margin > 1e-3)
    types, outputs = run(family, scores, deltas, anchors, image_info, nchw=nchw, **options)
    assert len(outputs[0]) == len(rows)
    if rows:
        kept, boxes, batches = zip(*rows, strict=True)
        assert_close(types[0], outputs[0], kept, 0)
        assert_close(types[1], outputs[1], boxes, family.atol)
        assert outputs[2].tolist() == list(batches)


def test_values_are_refused_when_computing() -> None:
    family = FAMILIES["float32"]
    good = [SCORES, STILL, ANCHOR, [[40, 40]]]
    for position, bad, message in (
        (1, np.zeros((1, 1, 3, 8)), r"deltas has shape \[1, 1, 3, 8\], must be \[1, 1, 3, 4\] \(as NHWC\)"),
        (2, [ANCHOR[0]] * 2, r"anchors has shape \[2, 4\], must be \[1, 4\]"),
        (2, [[8, 0, 0, 8]], r"anchors \[0\] is \[8.0, 0.0, 0.0, 8.0\], must not end before it starts"),
        (3, [[40, 40]] * 2, r"image_info has shape \[2, 2\], must be \[1, 2\]"),
        (0, [[0.5]], "scores has rank 2, must have rank 4"),
    ):
        with pytest.raises(OpFailedError, match=message):
            run(family, *good[:position], bad, *good[position + 1 :])  # type: ignore[call-arg]


def test_quantized_anchors_count_eighths() -> None:
    types = [tensor("uint8", (1, 1, 1, 1), 1.0), tensor("uint8", (1, 1, 1, 4), 1.0)]
    types += [OperandType(OperandCode.TENSOR_QUANT16_SYMM, (1, 4), 0.25), tensor("quant16_asymm", (1, 2), 0.125)]
    inputs = [(type, np.zeros(type.shape)) for type in types]
    scalars = [scalar(OperandCode.FLOAT32, 1)] * 2 + [scalar(OperandCode.INT32, 1)] * 2
    scalars += [scalar(OperandCode.FLOAT32, 1)] * 2 + [scalar(OperandCode.BOOL, False)]
    outputs = [tensor("uint8", (0,), 1.0), tensor("quant16_asymm", (0, 4), 0.125), tensor("int32", (0,))]
    with pytest.raises(OpFailedError, match=r"anchors has scale 0.25 and zero point 0, must have 0.125 and 0"):
        run_single(CODE, [*inputs, *scalars], outputs)
    with pytest.raises(BadDataError, match="takes 11 inputs, got 10"):
        run_single(CODE, [*inputs, *scalars[:-1]], outputs)
