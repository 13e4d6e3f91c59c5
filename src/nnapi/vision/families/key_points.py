"""Key points of people in the order of COCO: MoveNet and its like, which give (y, x, score) of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nnapi.model.model import Model
from nnapi.model.operand import Array
from nnapi.vision.drawing import draw_people
from nnapi.vision.families.family import Family, output_shapes
from nnapi.vision.task import Task
from nnapi.vision.view import Hints, Point, View, describe_points

if TYPE_CHECKING:
    from PIL.Image import Image

LEAST = 0.25
"""Score of a key point that is shown."""
POINTS = (
    *("nose", "left eye", "right eye", "left ear", "right ear", "left shoulder", "right shoulder", "left elbow"),
    *("right elbow", "left wrist", "right wrist", "left hip", "right hip", "left knee", "right knee", "left ankle"),
    "right ankle",
)
"""The key points of a person in the order of COCO."""
BONES = (
    *((0, 1), (0, 2), (1, 3), (2, 4), (5, 6), (5, 7), (7, 9), (6, 8), (8, 10)),
    *((5, 11), (6, 12), (11, 12), (11, 13), (13, 15), (12, 14), (14, 16)),
)


def view_people(
    people: Sequence[Sequence[Point]], bones: Sequence[tuple[int, int]], least: float, picture: Image | None
) -> View:
    """People by their points with a score of ``least``; those without any are left out."""
    shown = [person for person in people if any(point.score >= least for point in person)]
    said = [
        f"{len(seen)} of {len(person)} key points: {', '.join(seen)}"
        for person in shown
        for seen in [[point.name for point in person if point.score >= least]]
    ]
    drawn = draw_people(picture, shown, bones, least) if picture else None
    return View("; ".join(said) or "nobody", drawn, {"people": describe_points(shown)})


def _see(model: Model, numbers: Sequence[Array], hints: Hints, picture: Image | None) -> View:
    rows = numbers[0].reshape(-1, len(POINTS), 3).tolist()
    people = [[Point(name, *row) for name, row in zip(POINTS, person, strict=True)] for person in rows]
    return view_people(people, BONES, LEAST if hints.least is None else hints.least, picture)


def _recognizes(model: Model) -> bool:
    shapes = output_shapes(model)
    return len(shapes) == 1 and shapes[0][-2:] == (len(POINTS), 3)


KEY_POINTS = Family("MoveNet", Task.POSE, _recognizes, _see)
