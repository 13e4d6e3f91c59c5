"""Fixed-point arithmetic of the integer LSTMs."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnapi.ops.fixed_point import (
    ONE,
    divide,
    inverse_square_root,
    logistic,
    multiplier,
    multiply_fixed_point,
    power_of_two,
    saturate,
    scale_integers,
    shift_left,
    sum_products,
    tanh,
)
from tests.ops.recurrent_cases import quickly

INT16 = np.arange(-(2**15), 2**15)
int32s = st.integers(-(2**31), 2**31 - 1)


def half_away(x: Fraction) -> float:
    return math.copysign(math.floor(abs(x) + Fraction(1, 2)), x)


def test_literal_products() -> None:
    # 1/2 · 1/2; halves go up; -1 · -1 does not fit and saturates
    a, b = np.array([2**14, 1, -1, -(2**15)], np.int64), np.array([2**14, 2**14, 2**14, -(2**15)], np.int64)
    np.testing.assert_array_equal(multiply_fixed_point(a, b), [2**13, 1, 0, 2**15 - 1])


def test_literal_divisions() -> None:
    np.testing.assert_array_equal(divide(np.array([5, 6, -5, -6, 7, 3], np.int64), 2), [1, 2, -1, -2, 2, 1])
    np.testing.assert_array_equal(divide(np.array([5, -5], np.int64), 0), [5, -5])


def test_saturation() -> None:
    np.testing.assert_array_equal(saturate(np.array([40000, -40000, 7], np.int64)), [32767, -32768, 7])
    np.testing.assert_array_equal(shift_left(np.array([9000, -9000, 3], np.int64), 2), [32767, -32768, 12])


@quickly
@given(int32s, st.floats(1e-9, 0.999))
def test_multiply_is_the_product_rounded_twice(x: Any, real: Any) -> None:
    by = multiplier(real)
    exact = Fraction(by.mantissa, 2**31) * Fraction(2) ** by.exponent  # type: ignore[arg-type]
    assert float(exact) == pytest.approx(real, rel=2**-30)
    product = math.floor(Fraction(x * by.mantissa, 2**31) + Fraction(1, 2))
    assert scale_integers(np.array([x], np.int64), by)[0] == half_away(Fraction(product, 2**-by.exponent))  # type: ignore[arg-type]


@quickly
@given(st.integers(-1000, 1000), st.integers(1, 1000))
def test_multiply_by_more_than_one(x: Any, factor: Any) -> None:
    assert scale_integers(np.array([x], np.int64), multiplier(factor))[0] == x * factor


def test_multiplier_edges() -> None:
    assert multiplier(1.0) == (2**30, 1)
    assert multiplier(1 - 2**-40) == (2**30, 1)  # the mantissa rounds up to 1
    assert multiplier(2.0**-40) == (0, 0)


@quickly
@given(int32s, st.integers(0, 31))
def test_divide_rounds_halves_away(x: int, exponent: int) -> None:
    assert divide(np.array([x], np.int64), exponent)[0] == half_away(Fraction(x, 2**exponent))


@pytest.mark.parametrize("integer_bits", range(7))
def test_tanh(integer_bits: int) -> None:
    y = tanh(INT16, integer_bits)
    want = np.tanh(INT16 / 2.0 ** (15 - integer_bits)) * 2**15
    assert np.abs(y - want).max() < 13
    np.testing.assert_array_equal(y[1:], -y[:0:-1])
    assert y[2**15] == 0


def test_logistic() -> None:
    y = logistic(INT16)
    assert np.abs(y - 2**15 / (1 + np.exp(-INT16 / 2.0**12))).max() < 7
    np.testing.assert_array_equal(y[2**15 + 1 :] + y[2**15 - 1 : 0 : -1], ONE)
    assert y[2**15] == 2**14


@quickly
@given(st.integers(1, 2**31 - 1))
def test_inverse_square_root(x: Any) -> None:
    mantissa, exponent = inverse_square_root(np.array([x], np.int64))
    assert mantissa[0] / 2**31 * 2.0 ** exponent[0] == pytest.approx(x**-0.5, rel=3e-6)  # type: ignore[index]
    assert exponent[0] <= 0  # type: ignore[index]
    assert 0 < mantissa[0] < 2**31  # type: ignore[index]


def test_sums_are_exact() -> None:
    x = np.full((1, 3), 255, np.uint8)
    assert sum_products(x, np.full((2, 3), -128, np.int8)).tolist() == [[-97920, -97920]]


def test_powers_of_two() -> None:
    assert power_of_two(2.0**-11) == -11
    assert power_of_two(3.05176e-05) == -15
    assert power_of_two(3e-5) is None
