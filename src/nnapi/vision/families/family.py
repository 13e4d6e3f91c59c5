"""A kind of model, as a row of the table of families."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from nnapi.model.model import Model
from nnapi.model.operand import Array, Shape
from nnapi.vision.pictures import PLAIN, Pixels
from nnapi.vision.task import Task
from nnapi.vision.view import Hints, View


@dataclass(frozen=True)
class Family:
    """A kind of model.

    ``view`` takes the model, its outputs as float values, hints and the input picture or None; it raises ValueError or
    IndexError if the outputs do not fit. ``pixels`` is the default preparation of pictures. ``evidence`` is the reason
    of a guess.
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


def names_of(model: Model) -> str:
    """Return the names of inputs, outputs and the last eight operations' results, in lower case."""
    indexes = {*model.inputs, *model.outputs, *(index for call in model.operations[-8:] for index in call.outputs)}
    return " ".join(model.operands[index].name or "" for index in sorted(indexes)).lower()
