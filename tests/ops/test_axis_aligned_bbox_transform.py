"""AXIS_ALIGNED_BBOX_TRANSFORM."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nnapi.codes import OperationCode
from nnapi.errors import BadDataError, OpFailedError
from nnapi.model.operand import tensor
from tests.ops.detection_cases import FAMILIES, assert_close, reals, stored
from tests.single import run_single

CODE = OperationCode.AXIS_ALIGNED_BBOX_TRANSFORM


def run(family: Any, rois: Any, deltas: Any, batch_index: Any, image_info: Any, scale: Any = 1 / 128) -> Any:
    shapes = [np.shape(value) for value in (rois, deltas, batch_index, image_info)]
    types = [family.box(*shapes[0]), family.of(*shapes[1], scale=scale), tensor("int32", shapes[2])]
    types.append(family.box(*shapes[3]))
    inputs = [(type, stored(type, x)) for type, x in zip(types, (rois, deltas, batch_index, image_info), strict=True)]
    out = family.box(*shapes[1])
    return out, run_single(CODE, inputs, [out])[0]


def test_literal() -> None:
    rois = [[10, 20, 20, 40]]
    # Class 0 stays, class 1 moves right by half the width and up by a quarter of the height, class 2 leaves the image.
    deltas = [[0, 0, 0, 0, 0.5, -0.25, 0, 0, 0.75, 0, 0, 0]]
    _, boxes = run(FAMILIES["float32"], rois, deltas, [0], [[38, 25]])
    np.testing.assert_allclose(boxes, [[10, 20, 20, 38, 15, 15, 25, 35, 17.5, 20, 25, 38]])


def test_exponential_stretch() -> None:
    _, boxes = run(FAMILIES["float32"], [[10, 10, 14, 14]], np.array([[0, 0, 1, -1]], np.float32), [0], [[100, 100]])
    e = math.e
    np.testing.assert_allclose(boxes, [[12 - 2 * e, 12 - 2 / e, 12 + 2 * e, 12 + 2 / e]], rtol=1e-6)


def moved(roi: Any, delta: Any, height: Any, width: Any) -> list[Any]:
    """The definition, one box at a time."""
    x1, y1, x2, y2 = roi
    dx, dy, dw, dh = delta
    w, h = x2 - x1, y2 - y1
    cx, cy = (x1 + x2) / 2 + dx * w, (y1 + y2) / 2 + dy * h
    w, h = w * math.exp(dw), h * math.exp(dh)
    edges = (cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2)
    return [min(max(edge, 0), limit) for edge, limit in zip(edges, (width, height) * 2, strict=True)]


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(sorted(FAMILIES)), st.integers(1, 4), st.integers(1, 3), st.integers(1, 3), st.integers(0, 2**32)
)
def test_every_box_is_moved_by_itself(kind: str, count: int, classes: int, images: int, seed: int) -> None:
    random, family = np.random.default_rng(seed), FAMILIES[kind]
    start, size = random.integers(0, 200, (2, count, 2))
    rois = np.concatenate([start, start + size], -1) / 8
    deltas = random.integers(-64, 64, (count, classes * 4)) / 64
    batch_index, image_info = random.integers(0, images, count), random.integers(10, 50, (images, 2))
    out, boxes = run(family, rois, deltas, batch_index, image_info, scale=1 / 64)
    expected = [
        np.concatenate([moved(roi, delta[4 * c : 4 * c + 4], *image_info[image]) for c in range(classes)])
        for roi, delta, image in zip(rois, deltas, batch_index, strict=True)
    ]
    assert_close(out, boxes, expected, family.atol)
    assert (reals(out, boxes) >= 0).all()


def test_values_are_refused_when_computing() -> None:
    family = FAMILIES["float32"]
    good = ([[0, 0, 4, 4]], [[0, 0, 0, 0]], [0], [[10, 10]])
    for position, bad, message in (
        (0, [[0, 5, 4, 4]], r"rois \[0\] is \[0.0, 5.0, 4.0, 4.0\], must not end before it starts"),
        (2, [1], r"batch_index holds 1, must be in \[0, 1\)"),
        (2, [-1], r"batch_index holds -1"),
        (0, [[0, 0, 4]], "rois has 3 columns, must have 4"),
        (1, [[0, 0, 0]], r"deltas has shape \[1, 3\], must be \[1, classes × 4\]"),
        (2, [0, 0], r"batch_index has shape \[2\], must be \[1\]"),
        (3, [[10, 10, 1]], "image_info has 3 columns, must have 2"),
        (3, [10, 10], "image_info has rank 1, must have rank 2"),
    ):
        arguments = [*good[:position], bad, *good[position + 1 :]]
        with pytest.raises(OpFailedError, match=message):
            run(family, *arguments)


def test_quantized_boxes_count_eighths() -> None:
    types = [tensor("quant16_asymm", (1, 4), 0.25), tensor("uint8", (1, 4), 1.0), tensor("int32", (1,))]
    types.append(tensor("quant16_asymm", (1, 2), 0.125))
    inputs = [(type, np.zeros(type.shape)) for type in types]
    with pytest.raises(OpFailedError, match=r"rois has scale 0.25 and zero point 0, must have 0.125 and 0"):
        run_single(CODE, inputs, [tensor("quant16_asymm", (1, 4), 0.125)])


def test_types_are_refused_when_added() -> None:
    types = [tensor("float32", (1, 4)), tensor("float16", (1, 4)), tensor("int32", (1,)), tensor("float32", (1, 2))]
    with pytest.raises(BadDataError, match=r"deltas is TENSOR_FLOAT16, must be TENSOR_FLOAT32 \(as rois is"):
        run_single(CODE, [(type, np.zeros(type.shape)) for type in types], [tensor("float32", (1, 4))])
