"""A family of models: a row of the table of families."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nnapi.model.model import Model
from nnapi.model.operand import Array, Shape
from nnapi.vision.pictures import PLAIN, Pixels, fit_inside
from nnapi.vision.task import Task
from nnapi.vision.view import Hints, Picture, View

NEAR = 0.02
"""A point outside a picture by at most this fraction of its size counts as inside."""


@dataclass(frozen=True)
class Family:
    """A kind of model.

    ``view`` takes the model, its outputs as float values, hints and the input picture or None; it raises ValueError or
    IndexError if the outputs do not fit. ``pixels`` is the default preparation of pictures. ``evidence`` is the reason
    for guessing this family.
    """

    name: str
    task: Task
    recognizes: Callable[[Model], bool]
    view: Callable[[Model, Sequence[Array], Hints, Any], View]
    pixels: Pixels = PLAIN
    evidence: str = ""


def input_shape(model: Model) -> Shape:
    return model.operands[model.inputs[0]].type.dimensions if model.inputs else ()


def output_shapes(model: Model) -> list[Shape]:
    return [model.operands[index].type.dimensions for index in model.outputs]


def takes_picture(model: Model) -> bool:
    return any(len(model.operands[index].type.dimensions) == 4 for index in model.inputs)


def to_picture(rows: Array, model: Model, picture: Picture | None, share: float = 1.0) -> Array:
    """Convert rows (y, x, score) from fractions of the input, which keeps a picture's aspect, to those of the picture.

    Points beside the picture get a score of 0.
    """
    shape = input_shape(model)
    if picture is None or len(shape) != 4:
        return rows
    height, width = shape[1:3]
    left, top, inner_width, inner_height = fit_inside(picture.size, (width, height), share)
    rows = (rows * (height, width, 1) - (top, left, 0)) / (inner_height, inner_width, 1)
    is_beside = (np.abs(rows[:, :2] - 0.5) > 0.5 + NEAR).any(1)
    rows[is_beside, 2] = 0
    return rows


def names_of(model: Model) -> str:
    """Return the names of the inputs, the outputs and the results of the last eight operations, in lower case."""
    indexes = {*model.inputs, *model.outputs, *(index for call in model.operations[-8:] for index in call.outputs)}
    return " ".join(model.operands[index].name or "" for index in sorted(indexes)).lower()
