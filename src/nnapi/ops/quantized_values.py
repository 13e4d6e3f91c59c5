"""Convert between quantized and float values: ``real = (value - zero_point) * scale``, halves rounded away from zero.

Integer sums are rescaled in the specification's fixed point, with the same result as LiteRT's kernels.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from nnapi.codes import FuseCode
from nnapi.codes import OperationCode as Op
from nnapi.errors import BadDataError, need
from nnapi.model.operand import Array, OperandType
from nnapi.operation_codes import Code
from nnapi.ops.fixed_point import multiplier

Convert = Callable[[Array], Array]

BOUNDS: dict[FuseCode, tuple[float, float]] = {
    FuseCode.FUSED_NONE: (-np.inf, np.inf),
    FuseCode.FUSED_RELU: (0.0, np.inf),
    FuseCode.FUSED_RELU1: (-1.0, 1.0),
    FuseCode.FUSED_RELU6: (0.0, 6.0),
}
RECTIFIERS: dict[Code, tuple[int, int | None]] = {Op.RELU: (0, None), Op.RELU1: (-1, 1), Op.RELU6: (0, 6)}

EXACT_FLOAT32 = 2**24
"""Integers up to this value are exact in float32."""

CACHED = 16384
"""Elements converted at a time, so that they stay in the cache."""
AWAY = 1 + 2.0**-22
"""Slightly more than 1: moves halves, and values that float32 barely distinguishes from them, away from zero."""


def round_half_away(x: float) -> int:
    return int(math.copysign(math.floor(abs(x) + 0.5), x))


def quantized_range(type: OperandType, activation: FuseCode = FuseCode.FUSED_NONE) -> tuple[int, int]:
    """Return the lowest and highest value that a quantized type has under a fused activation."""
    limits = np.iinfo(type.dtype)
    low, high = (float(np.float32(bound) / np.float32(type.scale)) for bound in BOUNDS[activation])
    lowest = type.zero_point + round_half_away(low) if low > -np.inf else limits.min
    highest = type.zero_point + round_half_away(high) if high < np.inf else limits.max
    return max(lowest, limits.min), min(highest, limits.max)


def same_quantization(a: OperandType, b: OperandType) -> bool:
    """Return whether stored values of two types with the same code mean the same; true if not quantized."""
    return not a.is_quantized or (a.scale, a.zero_point) == (b.scale, b.zero_point)


def need_alike(input: OperandType, out: OperandType) -> None:
    same = same_quantization(input, out)
    need(same, f"out is {out}, must have the scale and zero point of input, {input}", BadDataError)
    fits = not input.rank or not out.rank or input.rank == out.rank
    need(fits, f"out has rank {out.rank}, must have that of input, {input.rank}", BadDataError)


def dequantize(type: OperandType, quantized: Array) -> Array:
    """Return the float values of the quantized values of an operand of ``type``."""
    if type.channel:
        return quantized.astype(np.float32) * type.channel.broadcast(quantized.ndim)
    real = quantized.astype(np.float32)
    if type.zero_point:
        real -= np.float32(type.zero_point)
    real *= np.float32(type.scale)
    return real


def to_floats(type: OperandType, array: Array) -> Array:
    """Return the float values of an operand; values that are not quantized stay as they are."""
    return dequantize(type, array) if type.is_quantized else array


def quantize(type: OperandType, values: Array) -> Array:
    """Return float ``values`` as an operand of ``type`` stores them: rounded, and clamped to its range."""
    if not type.is_quantized:
        return values.astype(type.dtype)
    return requantizer(type, FuseCode.FUSED_NONE, 1.0)(values.astype(np.float32))


def offset(type: OperandType, quantized: Array, dtype: Any = np.float32) -> Array:
    """Return quantized values less their zero point, as floats."""
    real = quantized.astype(dtype)
    if type.zero_point:
        real -= dtype(type.zero_point)
    return real


def requantizer(type: OperandType, activation: FuseCode, factor: Array | float) -> Convert:
    """Return a function that quantizes results in units of ``factor`` to ``type``: scale, round, shift, clamp.

    ``factor`` is 1 for floats. For integer sums it is the product of the input scales, or one product per channel along
    the last axis. The function may overwrite its argument.
    """
    low, high = quantized_range(type, activation)
    per_unit = np.asarray(factor, np.float64) / type.scale * AWAY
    zero_point = np.float32(type.zero_point)

    def requantize(y: Array) -> Array:
        if y.dtype not in (np.float32, np.float64):
            y = y.astype(np.float32)
        y = np.multiply(y, per_unit.astype(y.dtype), out=y if y.flags.writeable else None)
        np.rint(y, out=y)
        if zero_point:
            y += zero_point
        return np.clip(y, low, high, out=y).astype(type.dtype)

    return requantize


def make_multiplier(factor: Array | float) -> Convert:
    """Return a function that multiplies integers by ``factor`` in the specification's fixed point.

    It multiplies by 31 bits of the factor, then shifts; each result is rounded to the nearest integer, halves up. Both
    are computed in float64, which is precise enough to recognize halves.
    """
    mantissa, exponent = multiplier(factor)
    scale = np.ldexp(mantissa / 2**31, np.maximum(exponent, 0))
    shift = np.ldexp(1.0, np.minimum(exponent, 0))

    def multiply(integers: Array) -> Array:
        y: Array = integers * scale
        y += 0.5
        np.floor(y, out=y)
        y *= shift
        y += 0.5
        return np.floor(y, out=y)

    return multiply


def rescaler(type: OperandType, activation: FuseCode, unit: Array | float) -> Convert:
    """Return a function that requantizes sums of scale ``unit``, one or one per channel (last axis), to ``type``."""
    low, high = quantized_range(type, activation)
    multiply = make_multiplier(np.asarray(unit, np.float64) / type.scale)

    def rescale(sums: Array) -> Array:
        out = np.empty(sums.shape, type.dtype)
        rows, to = (sums.reshape(-1, sums.shape[-1]), out.reshape(-1, sums.shape[-1])) if sums.size else (sums, out)
        step = max(1, CACHED // max(1, rows.shape[-1]))
        for start in range(0, len(rows), step):
            y = multiply(rows[start : start + step])
            y += type.zero_point
            to[start : start + step] = np.clip(y, low, high, out=y)
        return out

    return rescale
