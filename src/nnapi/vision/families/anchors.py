"""Detectors with boxes relative to anchors, which come from the file's metadata or a known grid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from nnapi.errors import UnusableFile
from nnapi.formats.tflite.metadata import Anchors
from nnapi.model.model import Model
from nnapi.model.operand import Array, Shape
from nnapi.ops.boxes import drop_overlapping, suppress
from nnapi.vision.families.family import Family, input_shape, output_shapes
from nnapi.vision.families.post_processed import view_boxes
from nnapi.vision.pictures import Pixels
from nnapi.vision.task import Task
from nnapi.vision.view import Box, Hints, Picture, View, name_class

LEAST = 0.5
"""Minimum score of a box."""
OVERLAP = 0.3
"""A box with at least this intersection over union duplicates a likelier box of its class."""
STEEPEST = 100.0
"""Scores are clamped to ± this before the sigmoid function."""


class Coding(NamedTuple):
    """The encoding of boxes.

    ``anchors`` has rows of x, y, width and height; ``order`` gives the indices of these in the model's boxes. A box is
    followed by ``points`` key points (x, y). ``background``: the first score belongs to the background.
    """

    anchors: Array
    scales: tuple[float, float, float, float]
    has_exponent: bool
    has_sigmoid: bool
    order: tuple[int, int, int, int] = (0, 1, 2, 3)
    points: int = 0
    background: bool = False


class Detector(NamedTuple):
    """A known detector: the side of its pictures (0 for any), the number of values per box, and the boxes' label.

    ``layers`` maps the pixels between cells to the sizes of a cell's anchors; 0 is as large as the picture.
    """

    family: str
    side: int
    values: int
    layers: Mapping[int, tuple[int, ...]]
    label: str
    is_slim: bool = False

    def count_anchors(self, height: int, width: int) -> int:
        return sum(-(-height // step) * -(-width // step) * len(sizes) for step, sizes in self.layers.items())

    def coding(self, height: int, width: int) -> Coding:
        """Return the anchors for a picture of that size, in row-major order of cells, and the encoding of boxes."""
        anchors = np.concatenate(list(self._layers(height, width)))
        if self.is_slim:
            return Coding(np.clip(anchors, 0, 1), (10.0, 10.0, 5.0, 5.0), True, False, background=True)
        return Coding(anchors, (float(self.side),) * 4, False, True, points=(self.values - 4) // 2)

    def _layers(self, height: int, width: int) -> Iterator[Array]:
        for step, sizes in self.layers.items():
            rows, columns = (np.arange(-(-side // step)) + 0.5 for side in (height, width))
            y, x, size = np.meshgrid(rows * step / height, columns * step / width, sizes, indexing="ij")
            w, h = (np.where(size, size / side, 1) for side in (width, height))
            yield np.stack([x, y, w, h], -1).reshape(-1, 4)


FACES_AND_PEOPLE, PALMS = (f"MediaPipe's detector of {things}" for things in ("faces or people", "palms"))
SLIM = "slim face detector"
WHOLE = (0,)
DETECTORS = (
    Detector(FACES_AND_PEOPLE, 128, 16, {8: 2 * WHOLE, 16: 6 * WHOLE}, "face"),
    Detector(FACES_AND_PEOPLE, 256, 16, {16: 2 * WHOLE, 32: 6 * WHOLE}, "face"),
    Detector(FACES_AND_PEOPLE, 192, 16, {4: WHOLE}, "face"),
    Detector(PALMS, 128, 18, {8: 2 * WHOLE, 16: 6 * WHOLE}, "palm"),
    Detector(PALMS, 192, 18, {8: 2 * WHOLE, 16: 6 * WHOLE}, "palm"),
    Detector(PALMS, 256, 18, {8: 2 * WHOLE, 16: 2 * WHOLE, 32: 6 * WHOLE}, "palm"),
    Detector(FACES_AND_PEOPLE, 224, 12, {8: 2 * WHOLE, 16: 2 * WHOLE, 32: 6 * WHOLE}, "person"),
    Detector(FACES_AND_PEOPLE, 128, 12, {8: 2 * WHOLE, 16: 6 * WHOLE}, "person"),
    Detector(SLIM, 0, 4, {8: (10, 16, 24), 16: (32, 48), 32: (64, 96), 64: (128, 192, 256)}, "face", is_slim=True),
)
"""SLIM is "Ultra-Light-Fast-Generic-Face-Detector", the others are MediaPipe's."""


def is_raw(shapes: Sequence[Shape]) -> bool:
    if len(shapes) != 2 or any(len(shape) != 3 for shape in shapes):
        return False
    boxes, scores = (shapes[i] for i in _sort(shapes))
    return boxes[1] == scores[1] and boxes[1] > 1 and boxes[2] >= 4


def find_detector(picture: Shape, shapes: Sequence[Shape]) -> Detector | None:
    """Return the known detector with this input and these outputs; None if there is none."""
    if not is_raw(shapes) or len(picture) != 4 or 0 in picture[1:3]:
        return None
    boxes, scores = (shapes[i] for i in _sort(shapes))
    for known in DETECTORS:
        takes = known.is_slim or picture[1:] == (known.side, known.side, 3)
        found = boxes[2], scores[2], boxes[1]
        if takes and found == (known.values, 1 + known.is_slim, known.count_anchors(*picture[1:3])):
            return known
    return None


def coding_from(anchors: Anchors) -> Coding:
    """Return the encoding in a file's metadata, where y precedes x and height precedes width."""
    x, y, w, h = 1, 0, 3, 2
    rows = np.array(anchors.anchors, np.float64).reshape(-1, 4)
    return Coding(rows, anchors.scales, anchors.has_exponent, anchors.has_sigmoid, (x, y, w, h))


def decode(outputs: Sequence[Array], coding: Coding, least: float, labels: Sequence[str] | None = None) -> list[Box]:
    """Return the boxes that score at least ``least``, likeliest first; suppress overlapping boxes of one class."""
    raw, scores = (outputs[i][0].astype(np.float64) for i in _sort([array.shape for array in outputs]))
    if coding.has_sigmoid:
        scores = 1 / (1 + np.exp(-np.clip(scores, -STEEPEST, STEEPEST)))
    scores = scores[:, int(coding.background) :]
    best = scores.max(1)
    chosen = np.argsort(-best, kind="stable")[: np.count_nonzero(best >= least)]
    rows, anchors, numbers, best = raw[chosen], coding.anchors[chosen], scores[chosen].argmax(1), best[chosen]
    offsets = rows[:, list(coding.order)] / np.array(coding.scales)
    middles = offsets[:, :2] * anchors[:, 2:] + anchors[:, :2]
    halves = (np.exp(offsets[:, 2:]) if coding.has_exponent else offsets[:, 2:]) * anchors[:, 2:] / 2
    boxes = np.concatenate([middles - halves, middles + halves], -1)[:, [1, 0, 3, 2]]
    points = rows[:, 4 : 4 + 2 * coding.points].reshape(len(rows), coding.points, 2) / np.array(coding.scales[:2])
    points = points * anchors[:, None, 2:] + anchors[:, None, :2]
    same = numbers == np.unique(numbers)[:, None]  # boxes of different classes may overlap
    _, taken = suppress(np.broadcast_to(best, same.shape), boxes, same, drop_overlapping(OVERLAP), -1)
    return [
        Box(
            name_class(int(numbers[i]), labels),
            float(best[i]),
            tuple(boxes[i].tolist()),
            int(numbers[i]),
            tuple((y, x) for x, y in points[i].tolist()),
        )
        for i in np.flatnonzero(taken.any(0)).tolist()
    ]


def _sort(shapes: Sequence[Shape]) -> tuple[int, int]:
    """Return the indices of boxes and scores. An output with one value per anchor has scores; else one with four values
    has boxes without points. By default the boxes are first."""
    first, second = shapes[0][2], shapes[1][2]
    is_second = first == 1 or (second == 4 and first not in (1, 4))
    return (1, 0) if is_second else (0, 1)


def _view(model: Model, numbers: Sequence[Array], hints: Hints, picture: Picture | None) -> View:
    shapes, labels = [array.shape for array in numbers], hints.labels
    if not is_raw(shapes):
        raise ValueError
    detector = find_detector(input_shape(model), shapes)
    if hints.anchors is not None:
        coding = coding_from(hints.anchors)
    elif detector is not None:
        coding = detector.coding(*input_shape(model)[1:3])
        labels = labels or [detector.label]
    else:
        raise UnusableFile(
            "the boxes cannot be found: the outputs are beside anchors, the file's metadata lists none, and the sizes "
            "are not those of a known detector"
        )
    if len(coding.anchors) != shapes[0][1]:
        raise UnusableFile(f"the metadata lists {len(coding.anchors)} anchors, the outputs have {shapes[0][1]}")
    least = LEAST if hints.least is None else hints.least
    found = decode(numbers, coding, min(least, LEAST / 10), labels)
    return view_boxes([box for box in found if box.score >= least], found, picture)


def _family(name: str, black: float, evidence: str = "") -> Family:
    def recognizes(model: Model) -> bool:
        detector = find_detector(input_shape(model), output_shapes(model))
        return detector is not None and detector.family == name

    return Family(name, Task.DETECTION, recognizes, _view, Pixels.of_range(black, 1), evidence)


FAMILIES = (_family(FACES_AND_PEOPLE, -1), _family(PALMS, 0), _family(SLIM, -1, "the number of its anchors"))
BESIDE_ANCHORS = Family("detector with anchors", Task.DETECTION, lambda model: is_raw(output_shapes(model)), _view)
"""Any other detector; it needs anchors in the file's metadata."""
