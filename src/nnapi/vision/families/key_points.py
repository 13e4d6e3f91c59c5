"""Key points of people: (y, x, score) for each point, as in MoveNet, or a heat map for each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nnapi.model.model import Model
from nnapi.model.operand import Array
from nnapi.vision.drawing import draw_people
from nnapi.vision.families.family import Family, names_of, output_shapes, takes_picture, to_picture
from nnapi.vision.pictures import Pixels
from nnapi.vision.task import Task
from nnapi.vision.view import Hints, Picture, Point, View, describe_points, read_skeleton

LEAST = 0.25
"""Minimum score of a key point."""
COCO, BODY = read_skeleton("coco"), read_skeleton("body14")
LEAST_HEAT = 0.2
"""Minimum peak of a heat map."""
SHARE = 0.6
"""Fraction of the input for a picture, because these networks were trained on people smaller than in portraits."""
SKELETONS = {len(each.points): each for each in (COCO, BODY)}
WORDS = ("pose", "hourglass", "heatmap", "heat_map", "keypoint")


def view_people(
    people: Sequence[Sequence[Point]], bones: Sequence[tuple[int, int]], least: float, picture: Picture | None
) -> View:
    """Return a view of the people who have any point that scores at least ``least``."""
    shown = [person for person in people if any(point.score >= least for point in person)]
    phrases = [
        f"{len(seen)} of {len(person)} key points: {', '.join(seen)}"
        for person in shown
        for seen in [[point.name for point in person if point.score >= least]]
    ]
    drawn = draw_people(picture, shown, bones, least) if picture else None
    best = max((point for person in people for point in person), key=lambda point: point.score, default=None)
    nobody = (
        f"nobody: the best point, {best.name}, scores {best.score:.2g}; the threshold is {least:g}"
        if best
        else "nobody"
    )
    return View("; ".join(phrases) or nobody, drawn, {"people": describe_points(shown)})


def _view(model: Model, outputs: Sequence[Array], hints: Hints, picture: Picture | None) -> View:
    found = outputs[0].reshape(-1, len(COCO.points), 3).astype(np.float64)
    people = [_name(COCO.points, to_picture(rows, model, picture)) for rows in found]
    return view_people(people, COCO.bones, LEAST if hints.least is None else hints.least, picture)


def _name(names: Sequence[str], rows: Array) -> list[Point]:
    return [Point(name, *row) for name, row in zip(names, rows.tolist(), strict=True)]


def _recognizes(model: Model) -> bool:
    shapes = output_shapes(model)
    return len(shapes) == 1 and shapes[0][-2:] == (len(COCO.points), 3)


KEY_POINTS = Family("MoveNet", Task.POSE, _recognizes, _view, Pixels(keeps_aspect=True))


def find_peaks(maps: Array, names: Sequence[str]) -> list[Point]:
    """Return the peak of each channel, moved a quarter of a cell from the cell's middle to its greater neighbor."""
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


def _view_maps(model: Model, outputs: Sequence[Array], hints: Hints, picture: Picture | None) -> View:
    (maps,) = outputs
    if maps.ndim != 4 or min(maps.shape[1:3]) < 2:
        raise ValueError
    count = maps.shape[3]
    names, bones = SKELETONS.get(count) or ([f"point {number}" for number in range(count)], ())
    rows = np.array([point[1:] for point in find_peaks(maps[0].astype(np.float64), names)])
    people = [_name(names, to_picture(rows, model, picture, SHARE))]
    return view_people(people, bones, LEAST_HEAT if hints.least is None else hints.least, picture)


def _recognizes_maps(model: Model) -> bool:
    shapes = output_shapes(model)
    is_map = len(shapes) == 1 and len(shapes[0]) == 4 and shapes[0][3] in SKELETONS and takes_picture(model)
    return is_map and any(word in names_of(model) for word in WORDS)


HEAT_MAPS = Family(
    "pose network with heat maps",
    Task.POSE,
    _recognizes_maps,
    _view_maps,
    Pixels.of_range(0, 255, is_bgr=True, keeps_aspect=True, share=SHARE),
    evidence="the names of its tensors and the number of channels",
)
