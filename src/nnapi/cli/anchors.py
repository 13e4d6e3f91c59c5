"""Boxes of detectors that leave the last step to others: what they say is beside anchors, one after the other.

Where the anchors are is said by the file's metadata, or follows from the size of the picture for MediaPipe's detectors,
whose layers lay two anchors on each cell of a grid, or one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np

from nnapi.formats.tflite.metadata import Anchors
from nnapi.model.operand import Array, Shape

OVERLAP = 0.3
"""Intersection by union from which on a box is the same thing as a likelier one of its class."""
STEEPEST = 100.0
"""Scores before the sigmoid function are cut there."""


class Coding(NamedTuple):
    """How boxes are stored. ``anchors`` are rows of x, y, width and height; ``order`` says where a row of the model's
    has the same four; ``points`` is how many key points (x, y) come after them; ``label`` names the only class."""

    anchors: Array
    scales: tuple[float, float, float, float]
    order: tuple[int, int, int, int]
    has_exponent: bool
    has_sigmoid: bool
    points: int = 0
    label: str = ""


class Found(NamedTuple):
    """A box: class, score, then top, left, bottom and right, and key points (y, x), as parts of the picture."""

    number: int
    score: float
    place: tuple[float, float, float, float]
    points: tuple[tuple[float, float], ...]


class Detector(NamedTuple):
    """A detector of MediaPipe: the picture's side, values of a box, the strides of its layers, anchors of a layer on
    each cell, what it finds, and the number that black is as an input (white is 1)."""

    side: int
    values: int
    strides: tuple[int, ...]
    each: int
    label: str
    black: float


DETECTORS = (
    Detector(128, 16, (8, 16, 16, 16), 2, "face", -1),
    Detector(256, 16, (16, 32, 32, 32), 2, "face", -1),
    Detector(192, 16, (4,), 1, "face", -1),
    Detector(128, 18, (8, 16, 16, 16), 2, "palm", 0),
    Detector(192, 18, (8, 16, 16, 16), 2, "palm", 0),
    Detector(256, 18, (8, 16, 32, 32, 32), 2, "palm", 0),
    Detector(224, 12, (8, 16, 32, 32, 32), 2, "person", -1),
)


def is_raw(shapes: Sequence[Shape]) -> bool:
    """Whether outputs are boxes and scores for each of some anchors."""
    if len(shapes) != 2 or any(len(shape) != 3 for shape in shapes):
        return False
    boxes, scores = (shapes[i] for i in _sort(shapes))
    return boxes[1] == scores[1] and boxes[1] > 1 and boxes[2] >= 4


def find_detector(picture: Shape, shapes: Sequence[Shape]) -> Detector | None:
    """The detector that takes such a picture and gives such outputs; None where it is none that is known."""
    if not is_raw(shapes) or len(picture) != 4 or picture[1] != picture[2] or picture[3] != 3:
        return None
    boxes, scores = (shapes[i] for i in _sort(shapes))
    for known in DETECTORS:
        count = sum((known.side // stride) ** 2 * known.each for stride in known.strides)
        if (known.side, known.values, count, 1) == (picture[1], boxes[2], boxes[1], scores[2]):
            return known
    return None


def coding_of(detector: Detector) -> Coding:
    """Anchors lie in the middle of cells, row by row; layers of the same stride share their cells."""
    rows = []
    for stride, layers in groupby(detector.strides):
        count, cells = detector.each * len(list(layers)), detector.side // stride
        middles = (np.arange(cells) + 0.5) / cells
        y, x, _ = np.meshgrid(middles, middles, np.arange(count), indexing="ij")
        rows.append(np.stack([x.ravel(), y.ravel(), np.ones(x.size), np.ones(x.size)], 1))
    scales = (float(detector.side),) * 4
    points = (detector.values - 4) // 2
    return Coding(np.concatenate(rows), scales, (0, 1, 2, 3), False, True, points, detector.label)


def coding_from(anchors: Anchors) -> Coding:
    """Of a file's metadata, by which y comes before x, and height before width."""
    x, y, w, h = 1, 0, 3, 2
    rows = np.array(anchors.anchors, np.float64).reshape(-1, 4)
    return Coding(rows, anchors.scales, (x, y, w, h), anchors.has_exponent, anchors.has_sigmoid)


def decode(outputs: Sequence[Array], coding: Coding, least: float) -> list[Found]:
    """The boxes with at least that score, likeliest first, one for each thing."""
    raw, scores = (outputs[i][0].astype(np.float64) for i in _sort([array.shape for array in outputs]))
    if coding.has_sigmoid:
        scores = 1 / (1 + np.exp(-np.clip(scores, -STEEPEST, STEEPEST)))
    numbers, best = scores.argmax(1), scores.max(1)
    places = np.flatnonzero(best >= least)
    rows, anchors = raw[places], coding.anchors[places]
    offsets = rows[:, list(coding.order)] / np.array(coding.scales)
    middles = offsets[:, :2] * anchors[:, 2:] + anchors[:, :2]
    sizes = (np.exp(offsets[:, 2:]) if coding.has_exponent else offsets[:, 2:]) * anchors[:, 2:]
    left, top = (middles - sizes / 2).T
    right, bottom = (middles + sizes / 2).T
    boxes = np.stack([top, left, bottom, right], 1)
    points = rows[:, 4 : 4 + 2 * coding.points].reshape(len(rows), -1, 2) / np.array(coding.scales[:2])
    points = points * anchors[:, None, 2:] + anchors[:, None, :2]
    kept: list[int] = []
    for i in np.argsort(-best[places], kind="stable").tolist():
        same = [j for j in kept if numbers[places[j]] == numbers[places[i]]]
        if all(_overlap(boxes[i], boxes[j]) < OVERLAP for j in same):
            kept.append(i)
    return [
        Found(
            int(numbers[places[i]]),
            float(best[places[i]]),
            tuple(boxes[i].tolist()),
            tuple((y, x) for x, y in points[i].tolist()),
        )
        for i in kept
    ]


def _sort(shapes: Sequence[Shape]) -> tuple[int, int]:
    """Which of two outputs are boxes, and which scores: those of one class are one number each, and boxes without key
    points four; else boxes come first."""
    first, second = shapes[0][2], shapes[1][2]
    is_second = first == 1 or (second == 4 and first not in (1, 4))
    return (1, 0) if is_second else (0, 1)


def _overlap(a: Array, b: Array) -> float:
    high = max(min(a[2], b[2]) - max(a[0], b[0]), 0)
    wide = max(min(a[3], b[3]) - max(a[1], b[1]), 0)
    both = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1])
    return float(high * wide / max(both - high * wide, 1e-12))
