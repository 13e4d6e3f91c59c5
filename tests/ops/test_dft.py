"""DFT: the kernel beside sums of waves and literal examples; its matrix."""

import cmath
import math
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.codes import OperandCode
from nnapi.errors import NnapiError
from nnapi.lowering.expansion import expand, has_composites
from nnapi.model.builder import Builder
from nnapi.model.operand import tensor
from nnapi.operation_codes import CompositeCode
from nnapi.ops.dft import LARGEST_MATRIX, make_matrix
from tests.rows import each_row
from tests.single import run_single, scalar


def run(x: Any, axis: int, length: int = 0, inverse: bool = False, onesided: bool = False) -> Any:
    numbers = [scalar(OperandCode.INT32, each) for each in (axis, length)]
    flags = [scalar(OperandCode.BOOL, each) for each in (inverse, onesided)]
    given = [(tensor(x.dtype.name, x.shape), x), *numbers, *flags]
    return run_single(CompositeCode.DFT, given, [tensor(x.dtype.name, (0,) * x.ndim)])[0]


def real(*values: float) -> Any:
    return np.array(values, np.float32).reshape(-1, 1)


def test_literal_examples() -> None:
    np.testing.assert_allclose(run(real(1, 0, 0, 0), 0), [[1, 0]] * 4, atol=1e-7)
    np.testing.assert_allclose(run(real(1, 2, 3, 4), 0), [[10, 0], [-2, 2], [-2, 0], [-2, -2]], atol=1e-6)
    np.testing.assert_allclose(run(real(1, 2, 3, 4), 0, onesided=True), [[10, 0], [-2, 2], [-2, 0]], atol=1e-6)
    np.testing.assert_allclose(run(real(1, 2, 3, 4), 0, 2), [[3, 0], [-1, 0]], atol=1e-6)
    back = np.array([[10, 0], [-2, 2], [-2, 0]], np.float32)
    np.testing.assert_allclose(run(back, 0, inverse=True, onesided=True), real(1, 2, 3, 4), atol=1e-6)


def by_sums(signal: list[complex], length: int, sign: int) -> list[complex]:
    padded = (signal + [0] * length)[:length]
    waves = [[cmath.exp(sign * 2j * math.pi * k * n / length) for n in range(length)] for k in range(length)]
    return [sum(x * w for x, w in zip(padded, wave, strict=True)) for wave in waves]


@each_row("parts", [1, 2])
@each_row("length", [0, 4, 7, 12])
@each_row("axis", [0, 1, -2])
def test_random_signals_beside_sums(axis: int, length: int, parts: int) -> None:
    x = np.random.default_rng(3).normal(size=(6, 7, parts)).astype(np.float32)
    signals = np.moveaxis(x[..., 0] + (1j * x[..., 1] if parts == 2 else 0), axis % 3, -1)
    count = length or signals.shape[-1]
    for is_inverse in (False, True):
        sums = [by_sums(list(signal), count, 1 if is_inverse else -1) for signal in signals]
        expected = np.moveaxis(np.array(sums) / (count if is_inverse else 1), -1, axis % 3)
        found = run(x, axis, length, is_inverse)
        np.testing.assert_allclose(found, np.stack([expected.real, expected.imag], -1), atol=2e-5)
        half = run(x, axis, length, onesided=True)
        np.testing.assert_array_equal(half, run(x, axis, length).take(range(count // 2 + 1), axis % 3))


@pytest.mark.parametrize(("length", "count"), [(0, 10), (9, 9), (4, 4), (13, 13)])
def test_real_signals_from_half_of_their_frequencies(length: int, count: int) -> None:
    half = np.random.default_rng(4).normal(size=(6, 2)).astype(np.float32)
    values = half[..., 0] + 1j * half[..., 1]
    expected = np.fft.irfft(values, count)
    found = run(half, 0, length, inverse=True, onesided=True)
    np.testing.assert_allclose(found[:, 0], expected, atol=1e-6)


@pytest.mark.parametrize(
    ("shape", "axis", "length", "reason"),
    [
        ((4,), 0, 0, "input has one axis"),
        ((4, 3), 0, 0, "the last axis of input has 3 elements, must be 1 or 2"),
        ((4, 2), 1, 0, "axis 1 has the real and imaginary part"),
        ((4, 2), 0, -1, "length is -1, must be above 0"),
    ],
)
def test_arguments_that_do_not_fit(shape: tuple[int, ...], axis: int, length: int, reason: str) -> None:
    with pytest.raises(NnapiError, match=reason):
        run(np.zeros(shape, np.float32), axis, length)


@pytest.mark.parametrize("onesided", [False, True])
def test_the_matrix_of_a_transform(onesided: bool) -> None:
    x = np.random.default_rng(5).normal(size=(6, 2)).astype(np.float32)
    found = x.reshape(-1) @ make_matrix(6, 2, 8, inverse=False, onesided=onesided)
    np.testing.assert_allclose(found.reshape(-1, 2), run(x, 0, 8, onesided=onesided), atol=1e-5)


def test_long_transforms_stay_whole() -> None:
    """A matrix for them would be larger than most models."""
    for size, is_whole in ((64, False), (math.isqrt(LARGEST_MATRIX), True)):
        b = Builder()
        b.output(b.dft(b.input(tensor("float32", (size, 1))), 0, 0, False, True))
        model = expand(b.finish()).model
        assert has_composites(model) == is_whole


def test_a_transform_on_the_devices_chosen_by_default() -> None:
    b, x = Builder(), np.random.default_rng(6).normal(size=(5, 32, 1)).astype(np.float32)
    b.output(b.dft(b.input(tensor("float32", x.shape)), 1, 0, False, True))
    found = nnapi.compile(b.finish()).run(x)[0]
    expected = np.fft.rfft(x[..., 0])
    np.testing.assert_allclose(found, np.stack([expected.real, expected.imag], -1), atol=1e-5)
