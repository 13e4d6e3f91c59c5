"""Detectors that leave the last step to others: they give boxes beside anchors, one after the other.

The file's metadata lists the anchors, or they follow from the size of the picture: MediaPipe's detectors lay one or two
anchors on each cell of a grid, those after "Ultra-Light-Fast-Generic-Face-Detector" boxes of two or three sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nnapi.formats.tflite.metadata import Anchors
from nnapi.model.model import Model
from nnapi.model.operand import Array, Shape
from nnapi.vision.families.family import Family, input_shape, output_shapes
from nnapi.vision.families.post_processed import view_boxes
from nnapi.vision.task import Task
from nnapi.vision.unfit import Unfit
from nnapi.vision.view import Box, Hints, View, name_class

if TYPE_CHECKING:
    from PIL.Image import Image

LEAST = 0.5
"""Score of a box that is shown."""
OVERLAP = 0.3
"""Intersection by union from which on a box is the same thing as a likelier one of its class."""
STEEPEST = 100.0
"""Scores before the sigmoid function are cut there."""


class Coding(NamedTuple):
    """The encoding of boxes.

    ``anchors`` are rows of x, y, width and height; ``order`` gives the index of the same four in a row of the model's;
    ``points`` is the number of key points (x, y) that follow; ``label`` names the only class; ``background`` is whether
    the first score is that of the background.
    """

    anchors: Array
    scales: tuple[float, float, float, float]
    order: tuple[int, int, int, int]
    has_exponent: bool
    has_sigmoid: bool
    points: int = 0
    label: str = ""
    background: bool = False


class Found(NamedTuple):
    """A box: class, score, then top, left, bottom and right, and key points (y, x), as shares of the picture."""

    number: int
    score: float
    place: tuple[float, float, float, float]
    points: tuple[tuple[float, float], ...]


class Detector(NamedTuple):
    """A detector of MediaPipe: the picture's side, values of a box, the strides of its layers, anchors of a layer on
    each cell, the name of the things that it finds, and the float value of black (white is 1)."""

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
    Detector(128, 12, (8, 16, 16, 16), 2, "person", -1),
)


SLIM_STRIDES, SLIM_SIZES = (8, 16, 32, 64), ((10, 16, 24), (32, 48), (64, 96), (128, 192, 256))
"""Pixels between the cells of each layer, and the sizes of the boxes on each cell, of the slim face detector."""


def is_raw(shapes: Sequence[Shape]) -> bool:
    """Whether outputs are boxes and scores for each of some anchors."""
    if len(shapes) != 2 or any(len(shape) != 3 for shape in shapes):
        return False
    boxes, scores = (shapes[i] for i in _sort(shapes))
    return boxes[1] == scores[1] and boxes[1] > 1 and boxes[2] >= 4


def find_detector(picture: Shape, shapes: Sequence[Shape]) -> Detector | None:
    """The detector of MediaPipe that takes such a picture and gives such outputs; None where none does."""
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


def coding_of_slim(height: int, width: int) -> Coding:
    """Boxes of several sizes in the middle of each cell; offsets count a tenth, sizes a fifth."""
    rows = []
    for stride, sizes in zip(SLIM_STRIDES, SLIM_SIZES, strict=True):
        for y in range(-(-height // stride)):
            for x in range(-(-width // stride)):
                middle = (x + 0.5) * stride / width, (y + 0.5) * stride / height
                rows += [(*middle, size / width, size / height) for size in sizes]
    anchors = np.clip(np.array(rows, np.float64), 0, 1)
    return Coding(anchors, (10.0, 10.0, 5.0, 5.0), (0, 1, 2, 3), True, False, 0, "face", background=True)


def is_slim(picture: Shape, shapes: Sequence[Shape]) -> bool:
    """Whether the outputs are the slim face detector's: four coordinates and two scores for each of its anchors."""
    if len(picture) != 4 or 0 in picture[1:3] or max(picture[1:3]) > 1280 or not is_raw(shapes):
        return False
    cells = [-(-picture[1] // stride) * -(-picture[2] // stride) for stride in SLIM_STRIDES]
    count = sum(number * len(sizes) for number, sizes in zip(cells, SLIM_SIZES, strict=True))
    boxes, scores = (shapes[i] for i in _sort(shapes))
    return boxes[1:] == (count, 4) and scores[2] == 2


def decode(outputs: Sequence[Array], coding: Coding, least: float) -> list[Found]:
    """The boxes with at least that score, likeliest first, one for each thing."""
    raw, scores = (outputs[i][0].astype(np.float64) for i in _sort([array.shape for array in outputs]))
    if coding.has_sigmoid:
        scores = 1 / (1 + np.exp(-np.clip(scores, -STEEPEST, STEEPEST)))
    if coding.background:
        scores = scores[:, 1:]
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
    """The indexes of boxes and scores among two outputs: scores of one class are one number each, boxes without key
    points are four; else boxes come first."""
    first, second = shapes[0][2], shapes[1][2]
    is_second = first == 1 or (second == 4 and first not in (1, 4))
    return (1, 0) if is_second else (0, 1)


def _overlap(a: Array, b: Array) -> float:
    high = max(min(a[2], b[2]) - max(a[0], b[0]), 0)
    wide = max(min(a[3], b[3]) - max(a[1], b[1]), 0)
    both = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1])
    return float(high * wide / max(both - high * wide, 1e-12))


def find_coding(model: Model, shapes: Sequence[Shape], anchors: Anchors | None) -> Coding:
    """The anchors that the file lists or that follow from the shapes; Unfit where neither gives them."""
    detector = find_detector(input_shape(model), shapes)
    if anchors is not None:
        coding = coding_from(anchors)
    elif detector is not None:
        coding = coding_of(detector)
    elif is_slim(input_shape(model), shapes):
        coding = coding_of_slim(*input_shape(model)[1:3])
    else:
        raise Unfit(
            "the boxes cannot be found: the outputs are beside anchors, the file's metadata lists none, and the sizes "
            "are not those of a known detector"
        )
    if len(coding.anchors) != shapes[0][1]:
        raise Unfit(f"the metadata lists {len(coding.anchors)} anchors, the outputs have {shapes[0][1]}")
    return coding


def _see(model: Model, numbers: Sequence[Array], hints: Hints, picture: Image | None) -> View:
    shapes = [array.shape for array in numbers]
    if not is_raw(shapes):
        raise ValueError
    coding = find_coding(model, shapes, hints.anchors)
    labels = hints.labels or ([coding.label] if coding.label else None)
    least = LEAST if hints.least is None else hints.least
    found = [
        Box(name_class(box.number, labels), box.score, box.place, box.number, box.points)
        for box in decode(numbers, coding, min(least, LEAST / 10))
    ]
    return view_boxes([box for box in found if box.score >= least], found, picture)


def _recognizes(model: Model, black: float) -> bool:
    detector = find_detector(input_shape(model), output_shapes(model))
    return detector is not None and detector.black == black


FACES_AND_PEOPLE = Family(
    "MediaPipe's detector of faces or people", Task.DETECTION, lambda model: _recognizes(model, -1), _see, -1, 1
)
PALMS = Family("MediaPipe's detector of palms", Task.DETECTION, lambda model: _recognizes(model, 0), _see, 0, 1)
SLIM = Family(
    "slim face detector",
    Task.DETECTION,
    lambda model: is_slim(input_shape(model), output_shapes(model)),
    _see,
    -1,
    1,
    evidence="the number of its anchors",
)
BESIDE_ANCHORS = Family(
    "detector with anchors", Task.DETECTION, lambda model: is_raw(output_shapes(model)), _see, evidence=""
)
"""Any other: its anchors are in the file's metadata, or it cannot be decoded."""
