"""PoseNet on outputs written by hand: two people, whose points the displacements connect."""

from __future__ import annotations

import numpy as np

from nnapi.vision.families import view_outputs
from nnapi.vision.families.key_points import COCO
from nnapi.vision.families.posenet import TREE, Maps, find_people
from nnapi.vision.task import Task
from nnapi.vision.view import Hints
from tests.vision.family_cases import model_of

SIDE, CELLS, STRIDE = 129, 9, 16.0


def cell_of(point: int, column: int) -> tuple[int, int]:
    """Points of a person lie below each other in two columns."""
    return point // 2, column + point % 2


def maps_of(columns: tuple[int, ...]) -> list[np.ndarray]:
    """Logits, offsets of (3, -2) pixels, and displacements along the tree, of a person in each of those columns."""
    scores = np.full((1, CELLS, CELLS, 17), -9.0, np.float32)
    offsets = np.zeros((1, CELLS, CELLS, 34), np.float32)
    forward, backward = (np.zeros((1, CELLS, CELLS, 32), np.float32) for _ in range(2))
    for column in columns:
        for point in range(17):
            y, x = cell_of(point, column)
            scores[0, y, x, point] = 2.0
            offsets[0, y, x, point], offsets[0, y, x, point + 17] = 3, -2
        for edge, (a, b) in enumerate(TREE):
            (ya, xa), (yb, xb) = cell_of(a, column), cell_of(b, column)
            forward[0, ya, xa, [edge, edge + 16]] = STRIDE * (yb - ya), STRIDE * (xb - xa)
            backward[0, yb, xb, [edge, edge + 16]] = STRIDE * (ya - yb), STRIDE * (xa - xb)
    return [backward, forward, scores, offsets]


def test_two_people() -> None:
    outputs = maps_of((0, 5))
    names = ("displacement_bwd", "displacement_fwd", "heatmap", "offset")
    picture = (1, SIDE, SIDE, 3)
    model = model_of(*(("float32", array.shape) for array in outputs), picture=picture, names=names)
    found = view_outputs(model, outputs, Task.POSE, Hints(), None)
    assert len(found.data["people"]) == 2
    columns = []
    for person in found.data["people"]:
        first = person["points"][0]
        columns.append(round((first["x"] * SIDE + 2) / STRIDE))
        for number, point in enumerate(person["points"]):
            y, x = cell_of(number, columns[-1])
            assert (point["y"] * SIDE, point["x"] * SIDE) == (np.float64(STRIDE * y + 3), np.float64(STRIDE * x - 2))
            assert point["name"] == COCO.points[number]
    assert sorted(columns) == [0, 5]


def test_a_peak_near_the_same_point_of_a_known_person_is_not_another() -> None:
    backward, forward, scores, offsets = (array[0].astype(np.float64) for array in maps_of((0,)))
    scores = 1 / (1 + np.exp(-scores))
    scores[0, 1, 0] = 0.9  # the nose, one cell beside
    offsets[0, 1, [0, 17]] = 3, -18
    found = find_people(Maps(scores, offsets, forward, backward, (STRIDE, STRIDE)))
    assert len(found) == 1


def test_nobody() -> None:
    outputs = maps_of(())
    model = model_of(*(("float32", array.shape) for array in outputs), picture=(1, SIDE, SIDE, 3))
    found = view_outputs(model, outputs, Task.POSE, Hints(), None)
    assert found.words.startswith("nobody: the best point, ")
    assert found.words.endswith(" scores 0.00012; the threshold is 0.5")
    assert found.data["people"] == []
