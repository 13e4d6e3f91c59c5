"""Segmentation: a class per pixel, or one channel with the probability of the foreground."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from nnapi.codes import OperationCode
from nnapi.model.model import Model
from nnapi.model.operand import Array
from nnapi.vision.drawing import draw_classes, draw_legend
from nnapi.vision.families.family import Family, input_shape, names_of, output_shapes, takes_picture
from nnapi.vision.labels import SEGMENTATION_COUNTS
from nnapi.vision.output_summaries import find_producer
from nnapi.vision.pictures import Pixels
from nnapi.vision.task import Task
from nnapi.vision.view import Hints, Picture, View, name_class, percent

HALF = 0.5
"""Threshold of a one-channel mask."""
LEAST_SHARE = 0.005
"""The text names classes that cover at least this fraction of the picture."""


def to_classes(outputs: Array, least: float) -> Array:
    """Return the class of each pixel of the first picture: the greatest channel, or one channel against ``least``."""
    if outputs.ndim == 2:
        return outputs
    if outputs.ndim not in (3, 4):
        raise ValueError
    first: Array = outputs[0]
    if outputs.ndim == 4:
        return (first[..., 0] >= least).astype(np.int64) if first.shape[-1] == 1 else first.argmax(-1)
    return first


def count_classes(model: Model) -> int | None:
    """Return the number of classes, from the output or from the ARGMAX before it; None if unknown."""
    shape = output_shapes(model)[0]
    if len(shape) == 4:
        return shape[3]
    for call in reversed(model.operations):
        if call.code == OperationCode.ARGMAX:
            dimensions = model.operands[call.inputs[0]].type.dimensions
            return dimensions[-1] if dimensions else None
    return None


def to_runs(classes: Array) -> list[list[int]]:
    """Return the pixels in row-major order as [class, count] runs."""
    flat = classes.reshape(-1)
    starts = np.flatnonzero(np.diff(flat, prepend=flat[0] - 1))
    counts = np.diff(starts, append=flat.size)
    return [[int(number), count] for number, count in zip(flat[starts], counts.tolist(), strict=True)]


def view_classes(classes: Array, labels: Sequence[str] | None, picture: Picture | None) -> View:
    """Return a view of classes such as ``bird 12 %``, the largest first, without the background; they are also the
    legend of its picture."""
    found, counts = np.unique(classes, return_counts=True)
    areas = sorted(zip((counts / classes.size).tolist(), found.tolist(), strict=True), reverse=True)
    has_background = labels is None or labels[0] == "background"
    legend = [
        (number, f"{name_class(number, labels)} {percent(share)}")
        for share, number in areas
        if (number or not has_background) and share >= LEAST_SHARE
    ]
    data = {
        "areas": [{"index": n, "label": name_class(n, labels), "share": share} for share, n in areas],
        "mask": {"height": classes.shape[0], "width": classes.shape[1], "runs": to_runs(classes)},
    }
    words = ", ".join(text for _, text in legend) or "only background"
    return View(words, draw_legend(draw_classes(picture, classes, 0 if has_background else None), legend), data)


def _view(
    model: Model, outputs: Sequence[Array], hints: Hints, picture: Picture | None, thing: str | None = None
) -> View:
    """Return a view of classes, or of one ``thing`` on a background; labels may replace its name."""
    (found,) = outputs
    labels = hints.labels
    if thing:
        named = [label for label in labels or () if label != "background"]
        labels = ["background", *(named[:1] or [thing])]
    return view_classes(to_classes(found, HALF if hints.least is None else hints.least), labels, picture)


def _is_classes(model: Model) -> bool:
    """Return whether the output is masks: ARGMAX's integers, a known number of channels, or names of masks."""
    shapes = output_shapes(model)
    if len(shapes) != 1 or not takes_picture(model):
        return False
    (shape,) = shapes
    if len(shape) in (2, 3):
        is_whole = model.operands[model.outputs[0]].type.dtype.kind in "iu"
        return is_whole and min(shape[-2:]) > 1 and (find_producer(model) == OperationCode.ARGMAX or len(shape) == 3)
    if len(shape) != 4 or min(shape[1:3]) < 2:
        return False
    is_share = find_producer(model) == OperationCode.SOFTMAX
    return shape[3] in SEGMENTATION_COUNTS or (shape[3] > 3 and (is_share or "segment" in names_of(model)))


def _is_mask(model: Model) -> bool:
    """Return whether the output is one channel of probabilities, as large as the picture."""
    shapes, picture = output_shapes(model), input_shape(model)
    is_one = len(shapes) == 1 and len(picture) == 4 and shapes[0][1:] == (*picture[1:3], 1)
    return is_one and find_producer(model) == OperationCode.LOGISTIC


def _is_hair(model: Model) -> bool:
    """Return whether the input is a picture and the previous mask, and the output scores of two classes."""
    shapes, picture = output_shapes(model), input_shape(model)
    return len(shapes) == 1 and len(picture) == 4 and picture[3] == 4 and shapes[0][-3:] == (*picture[1:3], 2)


VIEW_HAIR, VIEW_THING = partial(_view, thing="hair"), partial(_view, thing="foreground")
HAIR_PIXELS = Pixels.of_range(0, 1, has_mask=True)
HAIR = Family(
    "hair segmentation with the previous mask",
    Task.SEGMENTATION,
    _is_hair,
    VIEW_HAIR,
    HAIR_PIXELS,
    "the shapes of its inputs and outputs",
)
MASK = Family("mask of one thing", Task.SEGMENTATION, _is_mask, VIEW_THING, evidence="one channel of shares")
CLASSES = Family("segmentation", Task.SEGMENTATION, _is_classes, _view)
