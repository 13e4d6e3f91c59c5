"""Where a Resize samples, and its linear map along one axis, as ONNX's reference evaluator computes it; importing that
takes 30 MB."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from nnapi.importers.onnx.node import OnnxNode
from nnapi.model.operand import Array

NEAREST: dict[str, Callable[[Array], Array]] = {
    "round_prefer_floor": lambda ratio: ratio > 0.5,
    "round_prefer_ceil": lambda ratio: ratio >= 0.5,
    "floor": lambda ratio: ratio == 1.0,
    "ceil": lambda ratio: ratio > 0.0,
}
"""Whether the right of two neighbors is the nearest, by the share of the way to it, above 0 and at most 1."""
HANDLED = frozenset({"mode", "nearest_mode", "coordinate_transformation_mode", "cubic_coeff_a", "extrapolation_value"})
"""Attributes that are computed here, or have no effect on these modes."""
OUTWARD = "outward"
"""The rounding before opset 11, as ONNX Runtime reads it: floor to enlarge, ceil to shrink."""


class Sampling(NamedTuple):
    """Where a result's elements lie between those of the input: the attributes of these names."""

    coordinate_transformation_mode: str
    nearest_mode: str


def read_sampling(node: OnnxNode) -> Sampling:
    """Return the sampling of a Resize or Upsample, with the defaults of its opset."""
    if node.kind == "Upsample" or node.since < 11:  # without these attributes
        return Sampling("asymmetric", OUTWARD)
    layout = node.attribute("coordinate_transformation_mode", "half_pixel")
    return Sampling(layout, node.attribute("nearest_mode", "round_prefer_floor"))


def find_map(size: int, scale: float | None, length: int | None, attributes: Mapping[str, Any]) -> Array | None:
    """Return the map [results, elements] of an axis with ``size`` elements to a ``scale``, or else to a ``length``;
    None for cubic interpolation, filters and regions."""
    given = {name: value.decode() if isinstance(value, bytes) else value for name, value in attributes.items()}
    unusual = {name for name, value in given.items() if name not in HANDLED and value}
    mode, right = given.get("mode", "nearest"), NEAREST.get(given.get("nearest_mode", "round_prefer_floor"))
    if scale is None:
        if length is None:
            return None
        scale = length / size if size else 0.0
    else:
        length = int(scale * size)
    if unusual or right is None or mode not in ("nearest", "linear") or not (size and scale > 0):
        return None
    if np.isclose(scale, 1.0, 1e-9, 0.0) and length == size:
        return np.eye(size, dtype=np.float32)
    positions = _place(size, scale, length, given.get("coordinate_transformation_mode", "half_pixel"))
    if positions is None:
        return None
    floor = np.floor(positions)
    ratio = np.where(positions == floor, 1.0, positions - floor)
    share = ratio if mode == "linear" else right(ratio).astype(float)
    left = np.ceil(positions + 1).astype(int) - 2  # as the evaluator rounds
    found = np.zeros((length, size))
    for neighbor, part in ((left, 1.0 - share), (left + 1, share)):
        np.add.at(found, (np.arange(length), neighbor.clip(0, size - 1)), part)
    return found.astype(np.float32)


def _place(size: int, scale: float, length: int, layout: str) -> Array | None:
    """Return the position in the input of each result."""
    at, whole = np.arange(length, dtype=float), scale * size
    centers: Array = (at + 0.5) / scale - 0.5
    if layout == "asymmetric":
        return at / scale
    if layout == "align_corners":
        return np.zeros(length) if whole == 1 else at * (size - 1) / (whole - 1)
    if layout == "pytorch_half_pixel":
        return np.full(length, -0.5) if whole == 1 else centers
    if layout == "half_pixel_symmetric":
        return size / 2 * (1 - length / whole) + (at + 0.5) / scale - 0.5
    return centers if layout == "half_pixel" else None
