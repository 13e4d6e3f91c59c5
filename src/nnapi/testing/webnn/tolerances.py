"""The W3C's tolerances of WebNN operators, and distances in units in the last place (ULP)."""

import math
from collections.abc import Callable

import numpy as np

from nnapi.model.operand import Array
from nnapi.testing.webnn.cases import Case
from nnapi.testing.webnn.layouts import filter_layout, input_layout, reduced_axes

FAR = 1 << 62
"""The distance between a number and NaN, or between different integers."""
ULPS: dict[str, tuple[int, int]] = {
    "add": (1, 1),
    "batchNormalization": (6, 6),
    "cast": (1, 1),
    "div": (2, 2),
    "elu": (18, 18),
    "exp": (32, 1),
    "hardSigmoid": (2, 2),
    "hardSwish": (4, 4),
    "instanceNormalization": (840, 8400),
    "leakyRelu": (1, 1),
    "linear": (2, 2),
    "mul": (1, 1),
    "pow": (32, 2),
    "prelu": (1, 1),
    "reciprocal": (2, 2),
    "sigmoid": (34, 3),
    "softplus": (18, 18),
    "softsign": (3, 3),
    "sqrt": (1, 1),
    "sub": (1, 1),
}
"""ULPs of float32 and float16 results. Operators that no table lists are exact."""
ABSOLUTE: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("cos", "erf", "layerNormalization", "sin", "tan", "tanh"), (1 / 1024, 1 / 512)),
    "log": (1 / 1024, 1 / 1024),
}
"""Absolute differences of float32 and float16 results."""


def _products(case: Case) -> int:
    shape, layout = case.inputs[case.arguments["filter"]].shape, filter_layout(case)
    channels = case.inputs[case.arguments["input"]].shape[input_layout(case).index("c")]
    window = shape[layout.index("h")] * shape[layout.index("w")]
    return int(window * (channels // case.options.get("groups", 1)) * 2)


def _reduced(case: Case) -> int:
    shape = case.inputs[case.arguments["input"]].shape
    return math.prod(shape[axis] for axis in reduced_axes(case))


def _window(case: Case) -> int:
    layout, shape = input_layout(case), case.inputs[case.arguments["input"]].shape
    window = case.options.get("windowDimensions") or [shape[layout.index(each)] for each in "hw"]
    return int(math.prod(window)) + 2


def _softmax(case: Case) -> int:
    return int(case.inputs[case.arguments["input"]].shape[case.arguments["axis"]]) * 3 + 3


COUNTED: dict[str, Callable[[Case], int]] = {
    "averagePool2d": _window,
    "conv2d": _products,
    "convTranspose2d": _products,
    "matmul": lambda case: case.inputs[case.arguments["a"]].shape[-1] * 2,
    "reduceL1": _reduced,
    "reduceL2": lambda case: _reduced(case) * 2 + 1,
    "reduceLogSum": lambda case: _reduced(case) + 18,
    "reduceLogSumExp": lambda case: _reduced(case) * 2 + 18,
    "reduceMean": lambda case: _reduced(case) + 2,
    "reduceProduct": _reduced,
    "reduceSum": _reduced,
    "reduceSumSquare": lambda case: _reduced(case) * 2,
    "softmax": _softmax,
}
"""ULPs that depend on the number of summands."""


def describe_difference(ours: Array, theirs: Array, case: Case) -> str:
    """Return how a result exceeds the W3C's tolerance, "" if it does not."""
    half = theirs.dtype == np.float16
    if theirs.dtype.kind == "f" and case.operator in ABSOLUTE:
        most = ABSOLUTE[case.operator][half]
        difference = _absolute(ours, theirs)
        return "" if difference <= most else f"{difference:.6g} off, {most:.6g} allowed"
    ulps = 0
    if theirs.dtype.kind == "f":
        counted = COUNTED.get(case.operator)
        ulps = counted(case) if counted else ULPS.get(case.operator, (0, 0))[half]
    distance = ulp_distance(ours, theirs)
    return "" if distance <= ulps else f"{distance} ULP off, {ulps} allowed"


def _absolute(ours: Array, theirs: Array) -> float:
    wide, other = ours.astype(np.float64), theirs.astype(np.float64)
    with np.errstate(invalid="ignore"):
        distances = np.where(_same(ours, theirs), 0, np.abs(wide - other))
    return float(np.nan_to_num(distances, nan=np.inf).max(initial=0))


def ulp_distance(ours: Array, theirs: Array) -> int:
    """Return the largest distance in units in the last place; that of integers in integers."""
    if theirs.dtype.kind != "f":
        return max((abs(int(a) - int(b)) for a, b in zip(ours.flat, theirs.flat, strict=True)), default=0)
    bits = np.dtype(f"i{theirs.dtype.itemsize}")

    def ordered(array: Array) -> Array:
        stored = np.ascontiguousarray(array).view(bits).astype(np.int64)
        return np.where(stored < 0, -(stored & np.iinfo(bits).max), stored)

    distances = np.abs(ordered(ours) - ordered(theirs))
    finite = np.isfinite(ours) & np.isfinite(theirs)
    return int(np.where(_same(ours, theirs), 0, np.where(finite, distances, FAR)).max(initial=0))


def _same(ours: Array, theirs: Array) -> Array:
    same: Array = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
    return same
