"""The outputs of one run as words, data and pictures."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from nnapi.formats.tflite.metadata import Anchors

if TYPE_CHECKING:
    from PIL.Image import Image

Picture: TypeAlias = "Image"
"""A Pillow image; Pillow is imported on demand."""


class Hints(NamedTuple):
    """Further facts for a view: labels, minimum score, and anchors of boxes."""

    labels: Sequence[str] | None = None
    least: float | None = None
    anchors: Anchors | None = None


@dataclass(frozen=True)
class View:
    """A result in words and as data; ``picture`` is drawn on the input, ``result`` is a picture that the model made."""

    words: str
    picture: Picture | None = None
    data: Mapping[str, Any] = field(default_factory=dict)
    result: Picture | None = None


class Box(NamedTuple):
    """An object; bounds (top, left, bottom, right) and points (y, x) are fractions of the picture's size."""

    label: str
    score: float
    bounds: tuple[float, float, float, float]
    number: int
    points: tuple[tuple[float, float], ...] = ()

    def describe(self) -> dict[str, Any]:
        found = {"index": self.number, "label": self.label, "score": self.score, "place": list(self.bounds)}
        return found | ({"points": [{"y": y, "x": x} for y, x in self.points]} if self.points else {})


class Point(NamedTuple):
    """A key point; y and x are fractions of the picture's height and width."""

    name: str
    y: float
    x: float
    score: float


class Skeleton(NamedTuple):
    """Names of key points in the model's order, and the pairs of points that bones connect."""

    points: tuple[str, ...] = ()
    bones: tuple[tuple[int, int], ...] = ()


def read_skeleton(name: str) -> Skeleton:
    found = tomllib.loads((files("nnapi.vision") / "skeletons.toml").read_text("utf-8"))[name]
    return Skeleton(tuple(found["points"]), tuple((a, b) for a, b in found["bones"]))


def describe_points(people: Sequence[Sequence[Point]]) -> list[dict[str, Any]]:
    return [{"points": [point._asdict() for point in person]} for person in people]


def name_class(number: int, labels: Sequence[str] | None) -> str:
    return labels[number] if labels and 0 <= number < len(labels) else f"class {number}"


def count_names(names: Sequence[str]) -> str:
    """Count equal names: ``2 × cat, 1 × dog``. Names of classes, such as scientific names, may have no plural."""
    return ", ".join(f"{count} × {name}" for name, count in Counter(names).items()) or "nothing"


def percent(share: float) -> str:
    """Format a fraction as a percentage: ``87 %``, ``0.4 %``, ``<0.1 %``."""
    if 0 < share < 0.001:
        return "<0.1 %"
    return f"{100 * share:.1f} %" if 0 < share < 0.01 else f"{100 * share:.0f} %"
