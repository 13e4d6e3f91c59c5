"""Results that count as the same."""

import numpy as np
import pytest

from nnapi import Builder, Model, tensor
from nnapi.model.operand import Array
from nnapi.model.precision import Precision
from nnapi.runtime.choice.judge import find_difference, measure

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
