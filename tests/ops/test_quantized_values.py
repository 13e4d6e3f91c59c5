"""Between codes and real numbers."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnapi.codes import FuseCode
from nnapi.model.operand import ChannelQuantization, tensor
from nnapi.ops.quantized_values import dequantize, offset, quantized_range, requantizer, round_half_away
from tests.ops.tensor_cases import quickly

NONE, RELU, RELU1, RELU6 = FuseCode.FUSED_NONE, FuseCode.FUSED_RELU, FuseCode.FUSED_RELU1, FuseCode.FUSED_RELU6
UINT8 = tensor("uint8", (), 0.5, 10)


def nearest(exact: Fraction) -> int:
    """The integer nearest to a fraction, halves away from zero."""
    size = int(abs(exact) + Fraction(1, 2))
    return size if exact >= 0 else -size


def test_halves_leave_zero() -> None:
    assert [round_half_away(x) for x in (0.5, 1.5, -0.5, -2.5, 0.49, -0.49)] == [1, 2, -1, -3, 0, 0]


@pytest.mark.parametrize(
    ("type", "fused", "expected"),
    [
        (UINT8, NONE, (0, 255)),
        (UINT8, RELU, (10, 255)),
        (UINT8, RELU1, (8, 12)),
        (UINT8, RELU6, (10, 22)),
        (tensor("uint8", (), 0.01, 10), RELU6, (10, 255)),
        (tensor("uint8", (), 0.4, 0), RELU1, (0, 3)),  # 1 / 0.4 is 2.5 in float32
        (tensor("int8", (), 0.5, -3), NONE, (-128, 127)),
        (tensor("int8", (), 0.5, -3), RELU6, (-3, 9)),
        (tensor("int16", (), 0.5), RELU, (0, 32767)),
    ],
)
def test_bounds_of_codes(type: Any, fused: FuseCode, expected: tuple[int, ...]) -> None:
    assert quantized_range(type, fused) == expected


def test_dequantize() -> None:
    assert dequantize(UINT8, np.array([0, 10, 13], np.uint8)).tolist() == [-5, 0, 1.5]
    channels = tensor("quant8_symm_per_channel", (2, 2), channel=ChannelQuantization(0, (0.5, 2.0)))
    assert dequantize(channels, np.array([[1, -2], [3, 4]], np.int8)).tolist() == [[0.5, -1], [6, 8]]
    assert dequantize(UINT8, np.array([1], np.uint8)).dtype == np.float32


def test_offset_gives_integers_in_floats() -> None:
    assert offset(UINT8, np.array([0, 255], np.uint8)).tolist() == [-10, 245]
    assert offset(UINT8, np.array([0], np.uint8), np.float64).dtype == np.float64
    codes = np.array([-128], np.int8)
    assert offset(tensor("int8", (), 0.5, 127), codes).tolist() == [-255]
    assert codes.tolist() == [-128]


def test_requantize_literal() -> None:
    real = np.array([0, 0.2, 0.25, -0.25, 0.75, -0.75, 1000, -1000], np.float32)
    assert requantizer(UINT8, NONE, 1.0)(real.copy()).tolist() == [10, 10, 11, 9, 12, 8, 255, 0]
    assert requantizer(UINT8, RELU1, 1.0)(real.copy()).tolist() == [10, 10, 11, 9, 12, 8, 12, 8]


def test_requantize_takes_what_cannot_be_overwritten() -> None:
    real = np.array([1, 2], np.float32)
    real.flags.writeable = False
    assert requantizer(UINT8, NONE, 1.0)(real).tolist() == [12, 14]
    assert real.tolist() == [1, 2]
    assert requantizer(UINT8, NONE, 0.5)(np.array([2, 4], np.int32)).tolist() == [12, 14]


def test_each_channel_has_its_factor() -> None:
    sums = np.array([[2, 2], [-4, 8]], np.float32)
    assert requantizer(UINT8, NONE, np.array([0.5, 2.0]))(sums).tolist() == [[12, 18], [6, 42]]


@quickly
@given(
    st.lists(st.integers(-(2**24), 2**24), min_size=1, max_size=20),
    st.floats(2**-20, 1, width=32),
    st.floats(2**-10, 1, width=32),
    st.sampled_from(["uint8", "int8", "uint16", "int16"]),
    st.sampled_from([np.float32, np.float64]),
)
def test_sums_take_the_nearest_code(sums: list[int], factor: float, scale: float, dtype: str, precision: Any) -> None:
    type = tensor(dtype, (), scale, 0 if dtype == "int16" else 3)
    limits = np.iinfo(type.dtype)
    codes = requantizer(type, NONE, factor)(np.array(sums, precision))
    assert codes.dtype == type.dtype
    for sum_, code in zip(sums, codes.tolist(), strict=True):
        exact = sum_ * Fraction(factor) / Fraction(type.scale)
        slack = abs(exact) / 2**21  # the multiplier and the product are rounded to float32
        near = {nearest(exact), nearest(exact - slack), nearest(exact + slack)}
        assert code in {min(max(n + type.zero_point, limits.min), limits.max) for n in near}


@quickly
@given(st.integers(-250, 250), st.sampled_from([1, 2, 0.125, 0.1, 0.3]), st.sampled_from([np.float32, np.float64]))
def test_exact_halves_leave_zero(n: int, scale: float, precision: Any) -> None:
    type = tensor("int16", (), scale)
    half = 2 * n + 1
    (code,) = requantizer(type, NONE, type.scale / 2)(np.array([half], precision))
    assert code == nearest(Fraction(half, 2))
