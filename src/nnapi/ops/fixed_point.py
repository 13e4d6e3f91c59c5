"""Fixed-point arithmetic of quantized operations; every product is rounded exactly as specified.

Values are int64 arrays of integers within ``bits`` (16 or 32), including the sign. An integer with ``m`` integer bits
represents ``value / 2**(bits - 1 - m)``. Products round halves up, divisions round halves away from zero; both
saturate.
"""

import math
from typing import NamedTuple

import numpy as np

from nnapi.model.operand import Array

ONE = 2**15 - 1


class Multiplier(NamedTuple):
    mantissa: Array | int
    exponent: Array | int


def power_of_two(scale: float) -> int | None:
    """Return the exponent of a scale that is nearly a power of two; None for other scales."""
    exponent = math.log2(scale)
    return round(exponent) if abs(exponent - round(exponent)) < 1e-3 else None


def multiplier(real: Array | float) -> Multiplier:
    """Return the nearest multipliers with mantissas in [2**30, 2**31); 0 for factors below 2**-32."""
    fraction, exponent = np.frexp(np.asarray(real, np.float64))
    mantissa = np.floor(fraction * 2**31 + 0.5).astype(np.int64)
    exponent = exponent.astype(np.int64) + (mantissa == 2**31)
    mantissa = np.where(mantissa == 2**31, 2**30, mantissa)
    is_small = exponent < -31
    return Multiplier(np.where(is_small, 0, mantissa)[()], np.where(is_small, 0, exponent)[()])


def scale_integers(x: Array, by: Multiplier) -> Array:
    """Multiply 32-bit integers by a factor; round after the product, and again after the shift."""
    product = multiply_fixed_point(x << np.maximum(by.exponent, 0), by.mantissa, 32)
    return divide(product, np.maximum(-by.exponent, 0))


def saturate(x: Array, bits: int = 16) -> Array:
    return np.clip(x, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def multiply_fixed_point(a: Array, b: Array | int, bits: int = 16) -> Array:
    """Multiply two fixed-point values; the product has the sum of their integer bits."""
    return np.minimum((a * b + 2 ** (bits - 2)) >> (bits - 1), 2 ** (bits - 1) - 1)


def divide(x: Array, exponent: Array | int) -> Array:
    return np.sign(x) * ((np.abs(x) + (np.left_shift(1, exponent) >> 1)) >> exponent)


def shift_left(x: Array, by: Array | int, bits: int = 16) -> Array:
    """Return ``x * 2**by``, saturated. Read with ``by`` fewer integer bits, it is the same number as x."""
    return saturate(x << by, bits)


def sum_products(x: Array, weights: Array) -> Array:
    product: Array = x.astype(np.float64) @ weights.astype(np.float64).T
    return product.astype(np.int64)


def _constant(real: float, integer_bits: int = 0, bits: int = 16) -> int:
    return round(real * 2 ** (bits - 1 - integer_bits))


def logistic(x: Array) -> Array:
    """Compute 1 / (1 + exp(-x)) of 16-bit fixed-point values with 3 integer bits; the result has none."""
    positive = shift_left(_half_reciprocal(_exp(-np.abs(x), 3)), 1)
    return np.where(x == 0, 2**14, np.where(x > 0, positive, ONE - positive))


def tanh(x: Array, integer_bits: int) -> Array:
    """Compute tanh of 16-bit fixed-point values; the result has no integer bits."""
    doubled = integer_bits + 1  # x read with one more integer bit is 2x
    magnitude = shift_left(_half_reciprocal(_exp(-np.abs(x), doubled)) - _constant(1, 2), 2)
    return np.sign(x) * magnitude


def _exp(x: Array, integer_bits: int) -> Array:
    """Return exp(x) for x <= 0: the exponential of x modulo 1/4, times exp(-2**k) for each bit of the quotient."""
    quarter = 1 << (13 - integer_bits)
    rest = (x & (quarter - 1)) - quarter
    result = _exp_near_zero(shift_left(rest, integer_bits))
    multiple = rest - x
    for k in range(-2, min(integer_bits, 5)):
        is_set = multiple & (quarter << (k + 2)) != 0
        result = np.where(is_set, multiply_fixed_point(result, _constant(math.exp(-(2.0**k)))), result)
    if integer_bits > 5:
        result = np.where(x < -(32 << (15 - integer_bits)), 0, result)
    return np.where(x == 0, ONE, result)


def _exp_near_zero(x: Array) -> Array:
    """Return exp(x) for x in [-1/4, 0): the Taylor series around -1/8 up to the fourth power."""
    center = _constant(math.exp(-1 / 8))
    x = x + _constant(1 / 8)
    x2 = multiply_fixed_point(x, x)
    x3, x4 = multiply_fixed_point(x2, x), multiply_fixed_point(x2, x2)
    higher = divide(multiply_fixed_point(divide(x4, 2) + x3, _constant(1 / 3)) + x2, 1)
    return saturate(center + multiply_fixed_point(x + higher, center))


def _half_reciprocal(x: Array) -> Array:
    """Return 2 / (1 + x) for x in [0, 1], with two integer bits, by three Newton steps."""
    half = (x + ONE + 1) >> 1
    y = _constant(48 / 17, 2) + multiply_fixed_point(half, _constant(-32 / 17, 2))
    for _ in range(3):
        y = y + shift_left(multiply_fixed_point(y, _constant(1, 2) - multiply_fixed_point(half, y)), 2)
    return y


def inverse_square_root(x: Array) -> Multiplier:
    """Return 1 / sqrt(x) of 32-bit integers x >= 1: five Newton steps on x scaled to [1/4, 1) by powers of 4."""
    length = np.frexp(x.astype(np.float64))[1].astype(np.int64)
    pairs = (29 - length) // 2
    y = (x << 2 * np.maximum(pairs, 0)) >> 2 * np.maximum(-pairs, 0)
    half = divide(y >> 1, 1)
    root = np.full_like(x, _constant(1, 3, 32))
    for _ in range(5):
        cube = shift_left(multiply_fixed_point(multiply_fixed_point(root, root, 32), root, 32), 6, 32)
        root = shift_left(
            multiply_fixed_point(root, _constant(1.5, 3, 32), 32) - multiply_fixed_point(half, cube, 32), 3, 32
        )
    root = multiply_fixed_point(root, _constant(math.sqrt(0.5), 0, 32), 32)
    return Multiplier(shift_left(root, np.maximum(pairs - 11, 0), 32), np.minimum(pairs - 11, 0))
