"""Functions that the engine's fast kernels compute wrongly for some finite values, made correct for all of them.

The kernels flush values below 2**-126 to 0; roots of large values and sines of large angles are off by half and more,
and LOGISTIC is NaN far from 0. The faults depend on the processor; the remedy does not.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from nnapi.codes import FuseCode
from nnapi.formats.tflite.graph import Tensor, constant
from nnapi.lowering.tflite.context import Context

BEYOND_FAST = 7
"""A rank without fast kernels, so that the C library's function is called for each element."""
SATURATED = 128.0
"""The magnitude from which LOGISTIC is 0 or 1 in float32."""
SHRUNK = 1 / 16
"""The factor before a square root; its own root is exact."""
LARGE = 2.0**124
"""The largest value whose root the engine computes correctly."""
MULTIPLIED = (2, 3, 4)
"""Exponents that become products."""


def one_by_one(context: Context, x: Tensor, out: Tensor, kind: str) -> Tensor:
    """Compute by the C library: correct for all values, a hundred times as slow."""
    shape = (1,) * (BEYOND_FAST - len(x.shape)) + x.shape
    flat = context.emit(kind, [context.reshape(x, shape)], x.like(shape=shape))
    return context.emit("RESHAPE", [flat, constant(out.shape)], out)


def root(context: Context, x: Tensor, out: Tensor, activation: FuseCode = FuseCode.FUSED_NONE) -> Tensor:
    """Return the square root of values that are not negative; negative values next to 0 become -0."""
    small = context.emit("MUL", [x, context.fill(x, SHRUNK)], x.like(), activation=0)
    small = context.emit("SQRT", [small], x.like())
    return context.emit("MUL", [small, context.fill(x, SHRUNK**-0.5)], out, activation=activation)


def square_root(context: Context, x: Tensor, out: Tensor) -> Tensor:
    """Return the square root of any value: the root up to LARGE times the root of the rest."""
    usual = context.emit("MINIMUM", [x, context.fill(x, LARGE)], x.like())
    usual = context.emit("SQRT", [usual], x.like())
    beyond = context.emit("MUL", [x, context.fill(x, 1 / LARGE)], x.like(), activation=0)
    beyond = context.emit("MAXIMUM", [beyond, context.fill(x, 1)], x.like())
    beyond = context.emit("SQRT", [beyond], x.like())
    return context.emit("MUL", [usual, beyond], out, activation=0)


def logistic(context: Context, x: Tensor, out: Tensor) -> Tensor:
    """Return 1 / (1 + exp(-x)) of clamped values; NaN stays NaN where the processor's minimum preserves it."""
    x = context.emit("MINIMUM", [x, context.fill(x, SATURATED)], x.like())
    x = context.emit("MAXIMUM", [x, context.fill(x, -SATURATED)], x.like())
    return context.emit("LOGISTIC", [x], out)


def power(context: Context, base: Tensor, exponent: Tensor, out: Tensor) -> Tensor:
    """Return powers. With one integer exponent the engine multiplies and never overflows to infinity; avoid that."""
    if exponent.size > 1 or (exponent.data is not None and not _is_whole(exponent.data.item())):
        return context.emit("POW", [base, exponent], out)
    if exponent.data is not None and exponent.data.item() in MULTIPLIED:
        return _multiply(context, context.reshape(base, out.shape), int(exponent.data.item()), out)
    if base.size == 1:  # of one shape, they are not taken for a tensor and a number
        return context.emit("POW", [context.reshape(base, out.shape), context.reshape(exponent, out.shape)], out)
    longest = int(np.argmax(out.shape))
    shape = tuple(dimension if axis == longest else 1 for axis, dimension in enumerate(out.shape))
    if exponent.data is not None:
        repeated = exponent.like(shape=shape, data=np.full(shape, exponent.data.item(), exponent.data.dtype))
    else:
        zeros = constant(np.zeros(shape), "f32")
        repeated = context.emit("ADD", [exponent, zeros], exponent.like(shape=shape), activation=0)
    return context.emit("POW", [base, repeated], out)


def _is_whole(number: Any) -> bool:
    return bool(number >= 1 and number == np.floor(number))


def _multiply(context: Context, base: Tensor, times: int, out: Tensor) -> Tensor:
    square = base.like() if times > 2 else out
    context.emit("MUL", [base, base], square, activation=0)
    return square if square is out else context.emit("MUL", [square, base if times == 3 else square], out, activation=0)


FUNCTIONS: dict[str, Callable[[Context, Tensor, Tensor], Tensor]] = {
    **{kind: partial(one_by_one, kind=kind) for kind in ("EXP", "FLOOR", "LOG", "RSQRT", "SIN")},
    "LOGISTIC": logistic,
    "SQRT": square_root,
}
"""The functions of float32 values by operator."""
