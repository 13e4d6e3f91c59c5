"""Key points of people: MoveNet and its like give (y, x, score) of each, other networks a heat map for each point."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nnapi.model.model import Model
from nnapi.model.operand import Array
from nnapi.vision.drawing import draw_people
from nnapi.vision.families.family import Family, names_of, output_shapes, takes_picture
from nnapi.vision.task import Task
from nnapi.vision.view import Hints, Picture, Point, View, describe_points

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

LEAST_HEAT = 0.2
"""Value at the peak of a heat map from which on its point is shown."""
BODY = (
    *("top of head", "neck", "right shoulder", "right elbow", "right wrist", "left shoulder", "left elbow"),
    *("left wrist", "right hip", "right knee", "right ankle", "left hip", "left knee", "left ankle"),
)
"""Fourteen points, in the order of PoseEstimationForMobile."""
BODY_BONES = (
    *((0, 1), (1, 2), (2, 3), (3, 4), (1, 5), (5, 6), (6, 7)),
    *((2, 8), (8, 9), (9, 10), (5, 11), (11, 12), (12, 13), (8, 11)),
)
ORDERS = {len(POINTS): (POINTS, BONES), len(BODY): (BODY, BODY_BONES)}
WORDS = ("pose", "hourglass", "heatmap", "heat_map", "keypoint")


def view_people(
    people: Sequence[Sequence[Point]], bones: Sequence[tuple[int, int]], least: float, picture: Picture | None
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


def _see(model: Model, numbers: Sequence[Array], hints: Hints, picture: Picture | None) -> View:
    rows = numbers[0].reshape(-1, len(POINTS), 3).tolist()
    people = [[Point(name, *row) for name, row in zip(POINTS, person, strict=True)] for person in rows]
    return view_people(people, BONES, LEAST if hints.least is None else hints.least, picture)


def _recognizes(model: Model) -> bool:
    shapes = output_shapes(model)
    return len(shapes) == 1 and shapes[0][-2:] == (len(POINTS), 3)


KEY_POINTS = Family("MoveNet", Task.POSE, _recognizes, _see)


def find_peaks(maps: Array, names: Sequence[str]) -> list[Point]:
    """The peak of each channel, in the middle of its cell and a quarter of a cell towards the greater neighbor."""
    height, width, _ = maps.shape
    points = []
    for number, name in enumerate(names):
        heat = maps[..., number]
        y, x = (int(i) for i in np.unravel_index(int(heat.argmax()), heat.shape))
        shift_y = _lean(heat[:, x], y)
        shift_x = _lean(heat[y], x)
        points.append(Point(name, (y + 0.5 + shift_y) / height, (x + 0.5 + shift_x) / width, float(heat[y, x])))
    return points


def _lean(line: Array, at: int) -> float:
    if not 0 < at < len(line) - 1:
        return 0.0
    return 0.25 * float(np.sign(line[at + 1] - line[at - 1]))


def _see_maps(model: Model, numbers: Sequence[Array], hints: Hints, picture: Picture | None) -> View:
    (maps,) = numbers
    if maps.ndim != 4 or min(maps.shape[1:3]) < 2:
        raise ValueError
    count = maps.shape[3]
    names, bones = ORDERS.get(count, ([f"point {number}" for number in range(count)], ()))
    people = [find_peaks(maps[0].astype(np.float64), names)]
    return view_people(people, bones, LEAST_HEAT if hints.least is None else hints.least, picture)


def _recognizes_maps(model: Model) -> bool:
    shapes = output_shapes(model)
    is_map = len(shapes) == 1 and len(shapes[0]) == 4 and shapes[0][3] in ORDERS and takes_picture(model)
    return is_map and any(word in names_of(model) for word in WORDS)


HEAT_MAPS = Family(
    "pose network with heat maps",
    Task.POSE,
    _recognizes_maps,
    _see_maps,
    0,
    255,
    evidence="the names of its tensors and the count of channels",
    is_bgr=True,
)
