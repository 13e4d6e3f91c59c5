"""Detectors with outputs of boxes, classes, scores and count: SSD with TensorFlow Lite's post-processing."""

from __future__ import annotations

from collections.abc import Sequence

from nnapi.model.model import Model
from nnapi.model.operand import Array, Shape
from nnapi.operation_codes import DETECTIONS
from nnapi.vision.drawing import draw_boxes
from nnapi.vision.families.family import Family, output_shapes
from nnapi.vision.task import Task
from nnapi.vision.view import Box, Hints, Picture, View, count_names, name_class

LEAST = 0.4
"""Minimum score of a box."""
NESTED = 0.8
"""A box with at least this overlap belongs to a likelier one of its class; models suppress only similar boxes."""


def find_boxes(outputs: Sequence[Array], labels: Sequence[str] | None, least: float | None = None) -> list[Box]:
    """Return the boxes of the first picture that score at least ``least`` (by default LEAST), one per object."""
    found = [box for box in read_boxes(outputs, labels) if box.score >= (LEAST if least is None else least)]
    kept: list[Box] = []
    for box in found:
        if not any(box.number == other.number and _share_inside(box, other) >= NESTED for other in kept):
            kept.append(box)
    return kept


def read_boxes(outputs: Sequence[Array], labels: Sequence[str] | None) -> list[Box]:
    """Return all boxes of the first picture, likeliest first; classes and scores come in either order."""
    (boxes,) = (array[0] for array in outputs if array.ndim == 3)
    (count,) = (int(array[0]) for array in outputs if array.ndim == 1)
    first, second = (array[0] for array in outputs if array.ndim == 2)
    is_class = bool((first[:count] == first[:count].round()).all())
    classes, scores = (first, second) if is_class else (second, first)
    rows = zip(classes.astype(int).tolist(), scores.tolist(), boxes.tolist(), strict=True)
    found = [Box(name_class(number, labels), score, tuple(bounds), number) for number, score, bounds in rows]
    return sorted(found[:count], key=lambda box: -box.score)


def _share_inside(box: Box, other: Box) -> float:
    top, left, bottom, right = box.bounds
    high = min(bottom, other.bounds[2]) - max(top, other.bounds[0])
    wide = min(right, other.bounds[3]) - max(left, other.bounds[1])
    return max(high, 0) * max(wide, 0) / max((bottom - top) * (right - left), 1e-9)


def _recognizes(model: Model) -> bool:
    shapes = output_shapes(model)
    found = any(call.code in DETECTIONS for call in model.operations)
    return _has_ranks(shapes) and (found or any(len(shape) == 3 and shape[-1] == 4 for shape in shapes))


def _has_ranks(shapes: Sequence[Shape]) -> bool:
    return sorted(map(len, shapes)) == [1, 2, 2, 3]


def _view(model: Model, outputs: Sequence[Array], hints: Hints, picture: Picture | None) -> View:
    if not _has_ranks([array.shape for array in outputs]):
        raise ValueError
    return view_boxes(find_boxes(outputs, hints.labels, hints.least), read_boxes(outputs, hints.labels), picture)


def view_boxes(boxes: Sequence[Box], all_boxes: Sequence[Box], picture: Picture | None) -> View:
    """Return a view of ``boxes``. If there are none, its text names the likeliest of ``all_boxes``."""
    words = count_names([box.label for box in boxes])
    if not boxes and all_boxes:
        best = max(all_boxes, key=lambda box: box.score)
        words += f" (most likely: {best.label}, score {best.score:.2f}; a lower --score shows it)"
    shown = draw_boxes(picture, boxes) if picture else None
    return View(words, shown, {"boxes": [box.describe() for box in boxes]})


POST_PROCESSED = Family("detector with post-processing", Task.DETECTION, _recognizes, _view)
