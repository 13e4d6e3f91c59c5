"""MediaPipe's landmarks of one face, eye, hand or person in a picture of it alone, beside a score that it is one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import NamedTuple

import numpy as np

from nnapi.codes import OperationCode
from nnapi.model.model import Model
from nnapi.model.operand import Array
from nnapi.vision.drawing import draw_people
from nnapi.vision.families.family import Family, input_shape, output_shapes
from nnapi.vision.outputs import producer
from nnapi.vision.task import Task
from nnapi.vision.view import Hints, Picture, Point, View, describe_points, percent

LEAST = 0.5
"""Score from which on there is such a thing, and from which on a landmark is seen."""


class Landmarks(NamedTuple):
    """A model: the side of its picture, the size of each output that holds landmarks, the values of one landmark, the
    names or "" of all, and the bones between them."""

    thing: str
    side: int
    sizes: tuple[int, ...]
    each: int
    names: tuple[str, ...] = ()
    bones: tuple[tuple[int, int], ...] = ()
    has_score: bool = True
    shown: int | None = None
    """The number of landmarks that are drawn; the others position the next crop."""


FINGERS = ("thumb", "index finger", "middle finger", "ring finger", "little finger")
HAND = ("wrist", *(f"{finger} {joint}" for finger in FINGERS for joint in (1, 2, 3, 4)))
HAND_BONES = (
    *((0, 1), (1, 2), (2, 3), (3, 4), (0, 5), (5, 6), (6, 7), (7, 8), (5, 9), (9, 10), (10, 11), (11, 12)),
    *((9, 13), (13, 14), (14, 15), (15, 16), (13, 17), (17, 18), (18, 19), (19, 20), (0, 17)),
)
BODY = (
    *("nose", "left eye (inner)", "left eye", "left eye (outer)", "right eye (inner)", "right eye"),
    *("right eye (outer)", "left ear", "right ear", "mouth (left)", "mouth (right)", "left shoulder", "right shoulder"),
    *("left elbow", "right elbow", "left wrist", "right wrist", "left little finger", "right little finger"),
    *("left index finger", "right index finger", "left thumb", "right thumb", "left hip", "right hip", "left knee"),
    *("right knee", "left ankle", "right ankle", "left heel", "right heel", "left foot", "right foot"),
)
BODY_BONES = (
    *((0, 2), (2, 7), (0, 5), (5, 8), (9, 10), (11, 12), (11, 13), (13, 15), (15, 17), (15, 19), (15, 21)),
    *((12, 14), (14, 16), (16, 18), (16, 20), (16, 22), (11, 23), (12, 24), (23, 24), (23, 25), (25, 27)),
    *((27, 29), (29, 31), (24, 26), (26, 28), (28, 30), (30, 32)),
)
KINDS = (
    Landmarks("face", 192, (1404,), 3),
    Landmarks("eye", 64, (213, 15), 3, has_score=False),
    Landmarks("hand", 256, (63,), 3, HAND, HAND_BONES),
    Landmarks("hand", 224, (63,), 3, HAND, HAND_BONES),
    Landmarks("person", 256, (195,), 5, BODY, BODY_BONES, shown=33),
)


def _recognizes(kind: Landmarks, model: Model) -> bool:
    counts = {prod(shape) for shape in output_shapes(model)}
    return input_shape(model)[1:2] == (kind.side,) and counts >= set(kind.sizes) and (1 in counts) == kind.has_score


def read_points(kind: Landmarks, numbers: Sequence[Array]) -> list[Point]:
    """Return the landmarks; five values each are x, y, z, and logits of visibility and presence."""
    picked = [next(array for array in numbers if array.size == size) for size in kind.sizes]
    rows = np.concatenate([array.reshape(-1, kind.each) for array in picked])[: kind.shown]
    names = kind.names or [f"point {number}" for number in range(len(rows))]
    scores = 1 / (1 + np.exp(-rows[:, 3])) if kind.each > 3 else np.ones(len(rows))
    return [
        Point(name, float(row[1]) / kind.side, float(row[0]) / kind.side, float(score))
        for name, row, score in zip(names, rows, scores, strict=True)
    ]


def _score(model: Model, numbers: Sequence[Array]) -> float:
    """The probability that the thing is there: as it is, or by the logistic function of an output without one."""
    number = next(i for i, array in enumerate(numbers) if array.size == 1)
    value = float(numbers[number].reshape(-1)[0])
    is_share = producer(model, number) in (OperationCode.LOGISTIC, OperationCode.DIV)
    return value if is_share else float(1 / (1 + np.exp(-value)))


def _see(kind: Landmarks, model: Model, numbers: Sequence[Array], hints: Hints, picture: Picture | None) -> View:
    points = read_points(kind, numbers)
    least = LEAST if hints.least is None else hints.least
    found = f"{len(points)} landmarks"
    data: dict[str, object] = {}
    if kind.has_score:
        score = _score(model, numbers)
        data = {"label": kind.thing, "score": score}
        if score < least:
            words = f"no {kind.thing} ({percent(score)}): the picture must show one {kind.thing} and little else"
            return View(words, picture, {**data, "landmarks": []})
        found = f"{kind.thing} ({percent(score)}), {found}"
    if kind.each > 3:
        found += f", {sum(point.score >= least for point in points)} of them in sight"
    drawn = draw_people(picture, [points], kind.bones, least, 120 if kind.bones else 300) if picture else None
    return View(found, drawn, {**data, "landmarks": describe_points([points])[0]["points"]})


def _family(kind: Landmarks) -> Family:
    name = f"MediaPipe's landmarks of a {kind.thing}"
    return Family(name, Task.LANDMARKS, partial(_recognizes, kind), partial(_see, kind), 0, 1)


FAMILIES = tuple(map(_family, KINDS))
