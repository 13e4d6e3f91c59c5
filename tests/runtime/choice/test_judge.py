"""Results that count as the same."""

import numpy as np
import pytest

from nnapi import Builder, Model, tensor
from nnapi.model.operand import Array
from nnapi.model.precision import Precision
from nnapi.runtime.choice.judge import Distance, find_difference, measure
from tests.runtime.control_cases import branch

RANDOM = np.random.default_rng(0)
REAL = RANDOM.normal(size=(1, 1000)).astype(np.float32)
CODES = RANDOM.integers(0, 256, (1, 1000), np.uint8)


def float_network() -> Model:
    b = Builder()
    b.output(b.tanh(b.input(tensor("float32", (1, 1000)))))
    return b.finish()


def quantized_network() -> Model:
    b = Builder()
    b.output(b.relu(b.input(tensor("quant8_asymm", (1, 1000), 0.1, 128))))
    return b.finish()


@pytest.mark.parametrize(("error", "is_same"), [(1e-6, True), (1e-3, True), (1e-2, False), (1.0, False)])
def test_float_results_agree_to_50_decibels(error: float, is_same: bool) -> None:
    found = REAL + np.float32(error) * RANDOM.normal(size=REAL.shape).astype(np.float32)
    said = find_difference(float_network(), [REAL], [found])
    assert (said is None) is is_same
    assert is_same or (said is not None and said.startswith("output 0"))


@pytest.mark.parametrize(("permitted", "error"), [(Precision.FLOAT16, 1e-2), (Precision.BFLOAT16, 0.2)])
def test_permitted_rounding_is_expected(permitted: Precision, error: float) -> None:
    noise = RANDOM.normal(size=REAL.shape).astype(np.float32)
    model = float_network().with_precision(permitted)
    assert find_difference(model, [REAL], [REAL + np.float32(error) * noise]) is None
    assert find_difference(model, [REAL], [REAL + 2 * noise]) is not None
    assert find_difference(float_network(), [REAL], [REAL + np.float32(error) * noise]) is not None


def test_infinite_values_are_rejected_where_there_was_none() -> None:
    found = REAL.copy()
    found[0, 7] = np.nan
    assert "1 elements that are infinite or NaN" in str(find_difference(float_network(), [REAL], [found]))
    assert find_difference(float_network(), [found], [found]) is None
    assert find_difference(float_network(), [found], [REAL]) is None


def test_quantized_results_may_be_a_few_steps_off() -> None:
    near = np.clip(CODES.astype(int) + RANDOM.integers(-8, 9, CODES.shape), 0, 255).astype(np.uint8)
    assert find_difference(quantized_network(), [CODES], [near]) is None
    said = find_difference(quantized_network(), [CODES], [RANDOM.permutation(CODES.reshape(-1)).reshape(CODES.shape)])
    assert said is not None
    assert "quantization steps" in said
    silent = np.full_like(CODES, 128)
    assert find_difference(quantized_network(), [silent], [silent + 2]) is None
    assert find_difference(quantized_network(), [silent], [silent + 3]) is not None


def test_other_dimensions_are_rejected() -> None:
    assert "dimensions [1, 999] instead of [1, 1000]" in str(find_difference(float_network(), [REAL], [REAL[:, 1:]]))


def test_results_behind_an_order_are_not_judged() -> None:
    b = Builder()
    x = b.input(tensor("float32", (1, 1000)))
    b.output(b.argmax(x, axis=1))
    right, found = (np.array([place], np.int32) for place in (1, 999))
    assert find_difference(b.finish(), [right], [found]) is None


def test_the_distance_is_in_decibels() -> None:
    right: Array = np.array([10.0], np.float32)
    found = measure([(0.0, 0, right, np.array([9.0], np.float32))])
    assert (found.largest, found.in_steps, found.decibels) == (1.0, False, pytest.approx(20.0))
    steps = measure([(0.5, 3, np.array([5], np.uint8), np.array([9], np.uint8))])
    assert (steps.largest, steps.in_steps) == (4.0, True)
    assert measure([(0.0, 0, right, right)]).decibels is None
    assert measure([(0.0, 0, right, np.zeros(2, np.float32))]).largest == np.inf


def float16_network() -> Model:
    b = Builder()
    b.output(b.tanh(b.input(tensor("float16", (1, 1000)))))
    return b.finish()


@pytest.mark.parametrize(
    ("model", "least"),
    [
        (float_network(), 50),
        (float16_network(), 25),
        (float_network().with_precision(Precision.FLOAT16), 6),
        (float_network().with_precision(Precision.BFLOAT16), 3),
    ],
    ids=["float32", "float16 tensors", "float16", "bfloat16"],
)
def test_the_least_decibels(model: Model, least: int) -> None:
    for decibels in (least - 0.2, least + 0.2):
        found = np.full((1, 1000), 1 + 10 ** (-decibels / 20), np.float32)
        said = find_difference(model, [np.ones((1, 1000), np.float32)], [found])
        assert (said is None) is (decibels > least)
        assert said is None or said.endswith(f", {decibels:.1f} dB (at least {least} dB are expected)")


@pytest.mark.parametrize(("off", "is_same"), [(56, True), (57, False)])
def test_quantized_results_agree_to_5_decibels(off: int, is_same: bool) -> None:
    right = np.full((1, 1000), 228, np.uint8)  # 100 steps above the zero point
    said = find_difference(quantized_network(), [right], [right - np.uint8(off)])
    assert (said is None) is is_same
    assert is_same or str(said).endswith("differs by up to 57 quantization steps, 4.9 dB (at least 5 dB are expected)")


@pytest.mark.parametrize(("off", "is_same"), [(0.9e-5, True), (1.1e-5, False)])
def test_a_tiny_difference_is_none(off: float, is_same: bool) -> None:
    zeros = np.zeros((1, 1000), np.float32)
    assert (find_difference(float_network(), [zeros], [zeros + np.float32(off)]) is None) is is_same


def test_results_of_control_flow_are_not_judged() -> None:
    right, found = np.array([1, 2], np.float32), np.array([-100, 7], np.float32)
    assert find_difference(branch(), [right], [found]) is None


def test_the_output_that_differs_is_named() -> None:
    b = Builder()
    x = b.input(tensor("float32", (2,)))
    b.output(b.abs(x), b.neg(x, name="negative"))
    right = np.array([1, 2], np.float32)
    said = find_difference(b.finish(), [right, right], [right, 2 * right])
    assert said == "output 1 (negative) differs by up to 2, 0.0 dB (at least 50 dB are expected)"


def test_results_after_one_that_is_not_judged_are_judged() -> None:
    b = Builder()
    x = b.input(tensor("float32", (1, 2)))
    b.output(b.argmax(x, axis=1), b.neg(x))
    order, right = np.zeros(1, np.int32), np.array([[1, 2]], np.float32)
    said = find_difference(b.finish(), [order, right], [order + 1, -right])
    assert str(said).startswith("output 1 (")


def test_the_distance_of_several_results() -> None:
    """Where each has a scale, in steps; a NaN at the same position is not a difference, at another an infinite one."""
    one = (0.5, 3, np.array([5, 3], np.uint8), np.array([6, 3], np.uint8))
    two = (2.0, 0, np.array([4, 1], np.int8), np.array([4, 4], np.int8))
    found = measure([one, two])
    signal, noise = (2 * 0.5) ** 2 + 8.0**2 + 2.0**2, 0.5**2 + 6.0**2
    assert (found.largest, found.in_steps) == (3.0, True)
    assert found.decibels == pytest.approx(10 * np.log10(signal / noise))
    nan = np.array([1, np.nan], np.float32)
    assert measure([one, (0.0, 0, nan, nan)]).in_steps is False
    assert measure([(0.0, 0, nan, nan)]).decibels is None
    assert measure([(0.0, 0, nan, np.ones(2, np.float32))]).largest == np.inf
    for other in (None, nan[:1]):
        assert measure([(0.5, 0, other, nan)]) == Distance(np.inf, True, -np.inf)
    flags = np.array([True, False])
    assert measure([(0.0, 0, flags, ~flags)]).largest == 1.0
