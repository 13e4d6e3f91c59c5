"""A match of a pattern: what its names stand for, and the steps that it replaces."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from nnapi.codes import FuseCode
from nnapi.dataflow import find_makers
from nnapi.importers.graph import Step, Value
from nnapi.importers.terms import FUSING

Bound = Value | float
MOST_STEPS = 48
"""The largest number of steps of a match, so that long chains of operations do not nest too deeply."""
TOLERANCE, TOLERANCE_OF_HALVES = 1e-5, 1e-3
"""The relative difference of a file's number from a pattern's, in float32 and float16."""


class Makers(dict[Value, Step]):
    """The step that writes each value, and in ``plain`` the same without steps that fuse an activation."""

    def __init__(self, steps: Sequence[Step]) -> None:
        super().__init__(find_makers(steps))
        self.plain = {value: step for value, step in self.items() if not _fuses(step)}


def _fuses(step: Step) -> bool:
    if step.code not in FUSING:
        return False
    activation = step.inputs[2].array
    return activation is None or activation.item() != FuseCode.FUSED_NONE


class Match(NamedTuple):
    """The values and numbers that a pattern's names stand for, and the steps that it replaces."""

    makers: Makers
    names: Mapping[str, Bound] = {}
    steps: tuple[Step, ...] = ()

    def find_maker(self, value: Value) -> Step | None:
        """Return the step that writes a value; None if it fuses an activation, or if no pattern has so many steps."""
        return self.makers.plain.get(value) if len(self.steps) < MOST_STEPS else None

    def through(self, step: Step) -> Match:
        return self._replace(steps=(*self.steps, step))

    def bind(self, name: str, found: Bound) -> Match | None:
        """Return the match with a name bound, None if the name stands for something else."""
        known = self.names.get(name)
        if known is None:
            return self._replace(names={**self.names, name: found})
        return self if _is_same(known, found) else None


def _is_same(a: Bound, b: Bound) -> bool:
    if isinstance(a, Value) and isinstance(b, Value):
        return a is b or (a.array is not None and b.array is not None and np.array_equal(a.array, b.array))
    return not isinstance(a, Value) and not isinstance(b, Value) and is_close(a, b)


def is_close(a: float, b: float, tolerance: float = TOLERANCE) -> bool:
    return math.isclose(a, b, rel_tol=tolerance)


def number_of(value: Value) -> float | None:
    """Return a constant float of one element; None for other values."""
    array = value.array
    return float(array.reshape(-1)[0]) if array is not None and array.size == 1 and value.is_float else None
