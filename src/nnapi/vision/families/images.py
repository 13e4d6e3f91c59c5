"""Models whose output is a picture or a map of depths."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import numpy as np

from nnapi.codes import OperationCode
from nnapi.model.model import Model
from nnapi.model.operand import Array
from nnapi.vision.drawing import draw_depths
from nnapi.vision.families.family import Family, input_shape, output_shapes
from nnapi.vision.output_summaries import find_producer, walk_back
from nnapi.vision.pictures import Pixels, fit_inside
from nnapi.vision.task import Task
from nnapi.vision.view import Hints, Picture, View

RANGES = {OperationCode.LOGISTIC: (0.0, 1.0), OperationCode.TANH: (-1.0, 1.0)}


def find_limits(model: Model) -> tuple[float, float] | None:
    """Return black and white of an output picture from the operation that clamps it; None if none does."""
    code = find_producer(model)
    if code in RANGES:
        return RANGES[OperationCode(code)]
    for _, call in islice(walk_back(model, model.outputs[0]), 6):
        if call.code == OperationCode.MINIMUM:
            values = [model.operands[index].value for index in call.inputs]
            constants = [float(value.reshape(-1)[0]) for value in values if value is not None and value.size == 1]
            return (0.0, constants[0]) if constants and constants[0] in (1.0, 255.0) else None
    return None


def to_pixels(values: Array, limits: tuple[float, float] | None) -> Array:
    """Scale values from ``limits`` to 0 … 255; by default from minimum to maximum, unless they are pixels already."""
    least, greatest = float(values.min()), float(values.max())
    if limits is None and (least < -1 or greatest > 255 or greatest <= 1.5):
        limits = least, greatest
    low, high = limits or (0.0, 255.0)
    scaled = (values.astype(np.float32) - low) * (255 / max(high - low, 1e-6))
    return np.clip(np.round(scaled), 0, 255).astype(np.uint8)


def first_picture(values: Array) -> Array:
    """Return the first picture (height, width, channels); ValueError if there is none."""
    if values.ndim not in (2, 3, 4):
        raise ValueError
    first = values[0] if values.ndim == 4 or (values.ndim == 3 and len(values) == 1) else values
    first = first[..., None] if first.ndim == 2 else first
    if first.shape[-1] not in (1, 3):
        raise ValueError
    return first


def _view_picture(model: Model, outputs: Sequence[Array], hints: Hints, picture: Picture | None) -> View:
    from PIL import Image

    pixels = to_pixels(first_picture(outputs[0]), find_limits(model))
    shown = Image.fromarray(pixels[..., 0] if pixels.shape[-1] == 1 else pixels)
    if picture:
        left, top, width, height = fit_inside(picture.size, shown.size)
        shown = shown.crop((left, top, left + width, top + height))
    return View(f"a picture of {shown.width}×{shown.height}", shown, result=shown)


def _view_depth(model: Model, outputs: Sequence[Array], hints: Hints, picture: Picture | None) -> View:
    depths = first_picture(outputs[0])
    if depths.shape[2] != 1:
        raise ValueError
    words = f"{depths.shape[1]}×{depths.shape[0]} depths from {depths.min():.4g} to {depths.max():.4g}"
    shown = draw_depths(depths[..., 0])
    rows = [[float(f"{value:.5g}") for value in row] for row in depths[..., 0].tolist()]
    return View(words, shown.resize(picture.size) if picture else shown, {"depths": rows})


def _is_picture(model: Model) -> bool:
    """Return whether the input is a color picture, and the output one of the same size or larger."""
    shapes, given = output_shapes(model), input_shape(model)
    if len(shapes) != 1 or len(shapes[0]) != 4 or len(given) != 4 or shapes[0][3] != 3 or given[3] != 3:
        return False
    return all(after >= before for before, after in zip(given[1:3], shapes[0][1:3], strict=True))


IMAGES = Family("network that gives a picture", Task.IMAGE, _is_picture, _view_picture, Pixels(keeps_aspect=True))
DEPTHS = Family("depths", Task.DEPTH, lambda model: False, _view_depth)
