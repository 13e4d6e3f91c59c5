"""Matches of a pattern with the steps of an import, and the numbers in them."""

import math

import numpy as np

from nnapi.codes import FuseCode
from nnapi.importers.graph import Step, Value
from nnapi.model.arithmetic import FUSING
from nnapi.operation_codes import Code
from nnapi.rewriting.pattern import Match

Bound = Value | float
MOST_STEPS = 48
"""The largest number of steps of a match, so that long chains of operations do not nest too deeply."""
TOLERANCE, TOLERANCE_OF_HALVES = 1e-5, 1e-3
"""The relative difference of a file's number from a pattern's, in float32 and float16."""


class StepMatch(Match):
    """A match of steps."""

    def find_maker(self, value: Value) -> Step | None:
        """Return the step that writes a value; None if no pattern has so many steps."""
        return self.makers.get(value) if len(self.nodes) < MOST_STEPS else None

    @staticmethod
    def kind_of(node: Step) -> Code:
        return node.code

    @staticmethod
    def is_same(a: Bound, b: Bound) -> bool:
        if isinstance(a, Value) and isinstance(b, Value):
            return a is b or (a.array is not None and b.array is not None and np.array_equal(a.array, b.array))
        return not isinstance(a, Value) and not isinstance(b, Value) and math.isclose(a, b, rel_tol=TOLERANCE)


def fuses(step: Step) -> bool:
    """Return whether a step applies an activation to its result, which patterns do not match."""
    if step.code not in FUSING:
        return False
    activation = step.inputs[2].array
    return activation is None or activation.item() != FuseCode.FUSED_NONE


def number_of(value: Value) -> float | None:
    """Return a constant float of one element; None for other values."""
    array = value.array
    return float(array.reshape(-1)[0]) if array is not None and array.size == 1 and value.is_float else None
