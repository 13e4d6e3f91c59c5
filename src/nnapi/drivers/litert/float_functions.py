"""Roots and powers that LiteRT's kernels compute wrongly for some finite values, made correct for all of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from nnapi.codes import FuseCode
from nnapi.formats.tflite.graph import Tensor, constant
from nnapi.lowering.tflite.context import Context

SHRUNK = 1 / 16
"""The factor before a square root; its own root is exact."""
MULTIPLIED = (2, 3, 4)
"""Exponents that become products."""


def root(context: Context, x: Tensor, out: Tensor, activation: FuseCode = FuseCode.FUSED_NONE) -> Tensor:
    """Return the square root of values that are not negative; negative values next to 0 become -0."""
    small = context.emit("MUL", [x, context.fill(x, SHRUNK)], x.like(), activation=0)
    small = context.emit("SQRT", [small], x.like())
    return context.emit("MUL", [small, context.fill(x, SHRUNK**-0.5)], out, activation=activation)


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
