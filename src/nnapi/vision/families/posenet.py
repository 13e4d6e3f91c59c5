"""PoseNet: heat maps of 17 points, offsets within cells, and displacements along bones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from nnapi.model.model import Model
from nnapi.model.operand import Array, Shape
from nnapi.vision.families.family import Family, input_shape, output_shapes
from nnapi.vision.families.key_points import COCO, view_people
from nnapi.vision.pictures import Pixels
from nnapi.vision.task import Task
from nnapi.vision.view import Hints, Picture, Point, View

LEAST = 0.5
"""Minimum score of a person's first point, and of a drawn point."""
MOST = 10
NEAR = 20.0
"""Distance in input pixels within which two peaks of a point belong to the same person."""
TREE = (
    *((0, 1), (1, 3), (0, 2), (2, 4), (0, 5), (5, 7), (7, 9), (5, 11)),
    *((11, 13), (13, 15), (0, 6), (6, 8), (8, 10), (6, 12), (12, 14), (14, 16)),
)
"""Source and target point of each channel of the displacements."""


class Maps(NamedTuple):
    """The outputs as (rows, columns, channels); ``stride`` is the number of input pixels between cells."""

    scores: Array
    offsets: Array
    forward: Array
    backward: Array
    stride: tuple[float, float]

    def position(self, y: int, x: int, point: int) -> tuple[float, float]:
        """Return the exact position of a point near a cell, in input pixels."""
        down, right = self.offsets[y, x, point], self.offsets[y, x, point + len(COCO.points)]
        return y * self.stride[0] + float(down), x * self.stride[1] + float(right)

    def cell(self, y: float, x: float) -> tuple[int, int]:
        rows, columns, _ = self.scores.shape
        return min(max(round(y / self.stride[0]), 0), rows - 1), min(max(round(x / self.stride[1]), 0), columns - 1)


def find_people(maps: Maps, least: float = LEAST) -> list[list[tuple[float, float, float]]]:
    """Return the points (y, x, score) of each person, in input pixels.

    The strongest peak that belongs to no person yet starts one; displacements lead to the person's other points.
    """
    people: list[list[tuple[float, float, float]]] = []
    for y, x, point in _peaks(maps.scores, least):
        begun = maps.position(y, x, point)
        is_known = any(np.hypot(begun[0] - p[point][0], begun[1] - p[point][1]) < NEAR for p in people)
        if not is_known and len(people) < MOST:
            people.append(_follow(maps, point, (*begun, float(maps.scores[y, x, point]))))
    return people


def _peaks(scores: Array, least: float) -> list[tuple[int, int, int]]:
    padded = np.pad(scores, ((1, 1), (1, 1), (0, 0)), constant_values=-np.inf)
    highest = sliding_window_view(padded, (3, 3), (0, 1)).max((-2, -1))
    found = [(y, x, point) for y, x, point in np.argwhere((scores >= least) & (scores >= highest)).tolist()]
    return sorted(found, key=lambda cell: -float(scores[cell]))


def _follow(maps: Maps, root: int, begun: tuple[float, float, float]) -> list[tuple[float, float, float]]:
    found = {root: begun}
    edges = [(a, b, maps.forward[..., i::16]) for i, (a, b) in enumerate(TREE)]
    edges += [(b, a, maps.backward[..., i::16]) for i, (a, b) in enumerate(TREE)]
    while True:
        ready = [edge for edge in edges if edge[0] in found and edge[1] not in found]
        if not ready:
            return [found[i] for i in range(len(COCO.points))]
        source, target, displacement = ready[0]
        y, x, _ = found[source]
        down, right = displacement[maps.cell(y, x)]
        cell = maps.cell(y + float(down), x + float(right))
        found[target] = (*maps.position(*cell, target), float(maps.scores[(*cell, target)]))


def _sort(shapes: Sequence[Shape]) -> list[int]:
    """Return the indices of heat maps, offsets and displacements; the last two come in either order."""
    channels = [shape[-1] for shape in shapes]
    return [channels.index(17), channels.index(34), *(i for i, count in enumerate(channels) if count == 32)]


def _view(model: Model, outputs: Sequence[Array], hints: Hints, picture: Picture | None) -> View:
    order = _sort([array.shape for array in outputs])
    scores, offsets, first, second = (outputs[i][0].astype(np.float64) for i in order)
    if "bwd" in (model.operands[model.outputs[order[2]]].name or "").lower():
        first, second = second, first
    height, width = input_shape(model)[1:3]
    rows, columns, _ = scores.shape
    stride = (height - 1) / (rows - 1), (width - 1) / (columns - 1)
    scores = 1 / (1 + np.exp(-scores))
    least = LEAST if hints.least is None else hints.least
    people = [
        [Point(name, y / height, x / width, score) for name, (y, x, score) in zip(COCO.points, person, strict=True)]
        for person in find_people(Maps(scores, offsets, first, second, stride), min(least, float(scores.max())))
    ]
    return view_people(people, COCO.bones, least, picture)


def _recognizes(model: Model) -> bool:
    return sorted(shape[-1] if len(shape) == 4 else 0 for shape in output_shapes(model)) == [17, 32, 32, 34]


POSENET = Family("PoseNet", Task.POSE, _recognizes, _view, Pixels.of_range(-1, 1))
