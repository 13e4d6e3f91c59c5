"""MediaPipe's landmarks of a face, eye, hand or person, with a score for its presence."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import NamedTuple

import numpy as np

from nnapi.codes import OperationCode
from nnapi.model.model import Model
from nnapi.model.operand import Array
from nnapi.printable import with_article
from nnapi.vision.drawing import draw_people
from nnapi.vision.families.family import Family, input_shape, output_shapes
from nnapi.vision.output_summaries import find_producer
from nnapi.vision.pictures import Pixels
from nnapi.vision.task import Task
from nnapi.vision.view import Hints, Picture, Point, Skeleton, View, describe_points, percent, read_skeleton

LEAST = 0.5
"""Minimum score of presence and of visibility."""


class Landmarks(NamedTuple):
    """A model: side of its pictures in pixels, sizes of its outputs with landmarks, number of values per landmark."""

    thing: str
    side: int
    sizes: tuple[int, ...]
    each: int
    skeleton: Skeleton = Skeleton()
    has_score: bool = True
    shown: int | None = None
    """The number of landmarks to draw; the others only position the next crop."""


HAND, BODY = read_skeleton("hand"), read_skeleton("body33")
KINDS = (
    Landmarks("face", 192, (1404,), 3),
    Landmarks("eye", 64, (213, 15), 3, has_score=False),
    Landmarks("hand", 256, (63,), 3, HAND),
    Landmarks("hand", 224, (63,), 3, HAND),
    Landmarks("person", 256, (195,), 5, BODY, shown=33),
)


def _recognizes(kind: Landmarks, model: Model) -> bool:
    counts = {prod(shape) for shape in output_shapes(model)}
    return input_shape(model)[1:2] == (kind.side,) and counts >= set(kind.sizes) and (1 in counts) == kind.has_score


def read_points(kind: Landmarks, outputs: Sequence[Array]) -> list[Point]:
    """Return the landmarks. If each has five values, they are x, y, z, and logits of visibility and presence."""
    picked = [next(array for array in outputs if array.size == size) for size in kind.sizes]
    rows = np.concatenate([array.reshape(-1, kind.each) for array in picked])[: kind.shown]
    names = kind.skeleton.points or [f"point {number}" for number in range(len(rows))]
    scores = 1 / (1 + np.exp(-rows[:, 3])) if kind.each > 3 else np.ones(len(rows))
    return [
        Point(name, float(row[1]) / kind.side, float(row[0]) / kind.side, float(score))
        for name, row, score in zip(names, rows, scores, strict=True)
    ]


def _score(model: Model, outputs: Sequence[Array]) -> float:
    """Return the probability of presence; apply the logistic function if the model does not."""
    number = next(i for i, array in enumerate(outputs) if array.size == 1)
    value = float(outputs[number].reshape(-1)[0])
    is_share = find_producer(model, number) in (OperationCode.LOGISTIC, OperationCode.DIV)
    return value if is_share else float(1 / (1 + np.exp(-value)))


def _view(kind: Landmarks, model: Model, outputs: Sequence[Array], hints: Hints, picture: Picture | None) -> View:
    points = read_points(kind, outputs)
    least = LEAST if hints.least is None else hints.least
    found = f"{len(points)} landmarks"
    data: dict[str, object] = {}
    if kind.has_score:
        score = _score(model, outputs)
        data = {"label": kind.thing, "score": score}
        if score < least:
            words = f"no {kind.thing} ({percent(score)}): the picture must show one {kind.thing} and little else"
            return View(words, picture, {**data, "landmarks": []})
        found = f"{kind.thing} ({percent(score)}), {found}"
    if kind.each > 3:
        found += f", {sum(point.score >= least for point in points)} of them in sight"
    bones = kind.skeleton.bones
    drawn = draw_people(picture, [points], bones, least, 120 if bones else 300) if picture else None
    return View(found, drawn, {**data, "landmarks": describe_points([points])[0]["points"]})


def _family(kind: Landmarks) -> Family:
    name = f"MediaPipe's landmarks of {with_article(kind.thing)}"
    return Family(name, Task.LANDMARKS, partial(_recognizes, kind), partial(_view, kind), Pixels.of_range(0, 1))


FAMILIES = tuple(map(_family, KINDS))
