"""Key points as heat maps: a channel for each point, greatest where the point is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from nnapi.model.model import Model
from nnapi.model.operand import Array
from nnapi.vision.families.family import Family, names_of, output_shapes, takes_picture
from nnapi.vision.families.key_points import BONES, POINTS, view_people
from nnapi.vision.task import Task
from nnapi.vision.view import Hints, Point, View

if TYPE_CHECKING:
    from PIL.Image import Image

LEAST = 0.2
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


def _see(model: Model, numbers: Sequence[Array], hints: Hints, picture: Image | None) -> View:
    (maps,) = numbers
    if maps.ndim != 4 or min(maps.shape[1:3]) < 2:
        raise ValueError
    count = maps.shape[3]
    names, bones = ORDERS.get(count, ([f"point {number}" for number in range(count)], ()))
    people = [find_peaks(maps[0].astype(np.float64), names)]
    return view_people(people, bones, LEAST if hints.least is None else hints.least, picture)


def _recognizes(model: Model) -> bool:
    shapes = output_shapes(model)
    is_map = len(shapes) == 1 and len(shapes[0]) == 4 and shapes[0][3] in ORDERS and takes_picture(model)
    return is_map and any(word in names_of(model) for word in WORDS)


HEAT_MAPS = Family(
    "pose network with heat maps",
    Task.POSE,
    _recognizes,
    _see,
    0,
    255,
    evidence="the names of its tensors and the count of channels",
    is_bgr=True,
)
