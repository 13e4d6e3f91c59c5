"""Rounding error by the order of computing: bounds that hold for the worst order and are not wider."""

from typing import Any

import numpy as np
import pytest

from nnapi.model.facts import ROUNDING
from nnapi.ops.normalization import by_running_sums
from nnapi.ops.reduce import by_products
from nnapi.ops.resize import by_interpolation
from nnapi.testing.random.deviation import estimate_losses

RNG = np.random.default_rng(0)
RADIUS, BIAS, ALPHA, BETA = np.int32(2), np.float32(0.5), np.float32(0.3), np.float32(0.7)


def normalized(x: np.ndarray, sums: np.ndarray) -> np.ndarray:
    return x * (BIAS + ALPHA * sums.astype(np.float64)) ** -np.float64(BETA)


def windows(x: np.ndarray, running: bool) -> np.ndarray:
    """Sums of squares around each element, each by itself, or kept in float32."""
    squares, reach = np.square(x), int(RADIUS)
    if not running:
        exact = squares.astype(np.float64)
        return np.array([exact[max(0, i - reach) : i + reach + 1].sum() for i in range(x.size)])
    sums, total = [], squares[:reach].sum(dtype=np.float32)
    for i in range(x.size):
        if i + reach < x.size:
            total = np.float32(total + squares[i + reach])
        if i - reach > 0:
            total = np.float32(total - squares[i - reach - 1])
        sums.append(total)
    return np.array(sums)


def test_running_sums_stay_within_their_bound() -> None:
    x = np.where(RNG.random(300) < 0.1, RNG.uniform(-1e4, 1e4, 300), RNG.uniform(-1, 1, 300)).astype(np.float32)
    with np.errstate(invalid="ignore"):  # a sum that is lost may even fall below 0
        error = np.abs(normalized(x, windows(x, running=True)) - normalized(x, windows(x, running=False)))
    bound = by_running_sums(x, RADIUS, BIAS, ALPHA, BETA, rounding=ROUNDING["fp32"])  # type: ignore[arg-type]
    assert np.nanmax(error) > 1e-2
    assert (np.where(np.isnan(error), np.inf, error) <= bound).all()


def test_running_sums_lose_nothing_before_the_first_large_number() -> None:
    x = np.ones(100, np.float32)
    x[60] = 1e4
    bound = by_running_sums(x, RADIUS, BIAS, ALPHA, BETA, rounding=ROUNDING["fp32"])  # type: ignore[arg-type]
    assert bound[:50].max() < 1e-4 < bound[70:].max()


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_running_sums_go_along_the_axis(axis: int) -> None:
    x = RNG.uniform(-1, 1, (3, 4)).astype(np.float32)
    bound = by_running_sums(x, RADIUS, BIAS, ALPHA, BETA, np.int32(axis), rounding=ROUNDING["fp32"])  # type: ignore[arg-type]
    alone = by_running_sums(np.take(x, 1, 1 - axis % 2), RADIUS, BIAS, ALPHA, BETA, rounding=ROUNDING["fp32"])  # type: ignore[arg-type]
    assert np.allclose(np.take(bound, 1, 1 - axis % 2), alone)


def test_products_may_overflow_on_their_way() -> None:
    factors = np.array([[1e30, 1e30, 1e-30, 1e-30], [1e30, 1e-30, 1, 1], [1, 2, 0, -3]], np.float32)
    found = by_products(factors, np.array([-1]), np.ones((3, 1), np.float32), 126)
    assert found.tolist() == [[np.inf], [0], [0]]


def test_others_lose_nothing() -> None:
    x = np.ones(3, np.float32)
    assert estimate_losses("SIN", [x], [x], "fp32") == []
    assert estimate_losses("REDUCE_PROD", [x.astype(np.uint8), x], [x], "fp32") == []


@pytest.mark.parametrize("is_nchw", [False, True])
def test_a_mean_of_numbers_added_up_in_a_row_stays_within_its_bound(is_nchw: bool) -> None:
    x = np.full((1, 25, 25, 1), 1.2694989, np.float32)
    total = np.float32(0)
    for number in x.ravel():
        total = np.float32(total + number)
    error = abs(float(total / np.float32(x.size)) - float(x[0, 0, 0, 0])) * 3.0 / np.sqrt(0.1)
    image = x.transpose(0, 3, 1, 2) if is_nchw else x
    settings = np.float32(3), np.float32(0), np.float32(0.1), *([np.bool_(True)] if is_nchw else [])
    (bound,) = estimate_losses("INSTANCE_NORMALIZATION", [image, *settings], [image], "fp32")
    assert bound.shape == image.shape
    assert 2e-5 < error <= bound.min()


@pytest.mark.parametrize("name", ["LAYER_NORM", "GROUP_NORM"])
def test_a_mean_that_is_subtracted_last_stays_within_its_bound(name: str) -> None:
    """A group of equal elements should give 0."""
    x, gamma = np.float32(-70697.516), np.float32(61.396282)
    factor = np.float32(gamma / np.sqrt(np.float32(0.001)))
    error = abs(float(x) * float(factor) - float(x * factor))
    given = [np.full((1, 1, 2), x), np.array([gamma, gamma / 2]), None, np.int32(2 if name == "LAYER_NORM" else 1)]
    (bound,) = estimate_losses(name, [*given, np.float32(0.001)], [given[0]], "fp32")
    assert bound.shape == (1, 1, 2)
    assert 1 < error <= bound[0, 0, 0] < 50
    assert bound[0, 0, 1] == pytest.approx(bound[0, 0, 0] / 2)


NORMALIZATIONS = {
    "INSTANCE_NORMALIZATION": (np.float32(1), np.float32(0), np.float32(0.001)),
    "LAYER_NORM": (None, None, np.int32(0), np.float32(0.001)),
    "GROUP_NORM": (None, None, np.int32(1), np.float32(0.001)),
    "RMS_NORM": (None, np.int32(0), np.float32(0.001)),
    "L2_NORMALIZATION": (np.int32(2),),
}


def normalize(x: Any, name: str, squares: Any) -> Any:
    """Return what the operation gives for an image of one channel whose sum of ``squares`` is known."""
    if name == "L2_NORMALIZATION":
        return x / np.sqrt(squares)
    return (x if name == "RMS_NORM" else x - x.mean()) / np.sqrt(squares / x.size + 0.001)


def find_squares(x: Any, name: str) -> Any:
    return np.square(x if name in ("RMS_NORM", "L2_NORMALIZATION") else x - x.mean())


@pytest.mark.parametrize("name", NORMALIZATIONS)
def test_squares_added_up_in_a_row_stay_within_their_bound(name: str) -> None:
    """All small squares are rounded in the same direction when they are added to a large one."""
    x = np.full((1, 1, 640, 1), 0.1, np.float32)
    x[0, 0, 0] = 194
    exact = find_squares(x.astype(np.float64), name)
    total = np.float32(0)
    for square in exact.ravel().astype(np.float32):
        total = np.float32(total + square)
    right = normalize(x.astype(np.float64), name, exact.sum())
    error = np.abs(normalize(x.astype(np.float64), name, float(total)) - right)
    (bound,) = estimate_losses(name, [x, *NORMALIZATIONS[name]], [right.astype(np.float32)], "fp32")
    assert 1e-6 < (error / np.abs(right)).max() < 1e-4
    assert (error <= bound).all()


@pytest.mark.parametrize("name", NORMALIZATIONS)
def test_a_wrong_variance_exceeds_its_bound(name: str) -> None:
    """An element that is left out, and a sum that is divided by one less than the number of elements."""
    x = RNG.normal(size=(1, 1, 640, 1)).astype(np.float32)
    exact = find_squares(x.astype(np.float64), name)
    right = normalize(x.astype(np.float64), name, exact.sum())
    (bound,) = estimate_losses(name, [x, *NORMALIZATIONS[name]], [right.astype(np.float32)], "fp32")
    for wrong in (exact.sum() - exact.max(), exact.sum() * 640 / 639):
        assert (np.abs(normalize(x.astype(np.float64), name, wrong) - right) > bound).mean() > 0.9


def test_wide_windows_lose_as_many_digits_as_they_have_elements() -> None:
    x = np.full(200, 0.1, np.float32)
    x[0] = 194
    total = np.float32(0)
    for square in np.square(x):
        total = np.float32(total + square)
    error = np.abs(normalized(x, np.full(200, total)) - normalized(x, np.full(200, np.square(x, dtype=float).sum())))
    bound = by_running_sums(x, np.int32(200), BIAS, ALPHA, BETA, rounding=ROUNDING["fp32"])  # type: ignore[arg-type]
    assert 0 < error[0] <= bound[0] < 1e-3


def test_groups_lose_by_their_own_elements() -> None:
    x = np.array([[[1000, 1000, 1, 1]]], np.float32)
    (bound,) = estimate_losses("GROUP_NORM", [x, None, None, np.int32(2), np.float32(1)], [x], "fp32")
    assert bound[0, 0].tolist() == pytest.approx([2000 * 2**-23, 2000 * 2**-23, 2 * 2**-23, 2 * 2**-23])


@pytest.mark.parametrize("is_nchw", [False, True])
def test_places_between_cells_stay_within_their_bound(is_nchw: bool) -> None:
    """31 rows at every second fifth, by two ways of rounding the step."""
    x = (RNG.integers(0, 2, (1, 31, 3, 1)) * 200).astype(np.float32)
    step = np.float32(31) / np.float32(13)
    first, second = (np.arange(13, dtype=np.float32) * step, np.arange(13, dtype=np.float64) * (31 / 13))
    rows = [np.interp(rounding, np.arange(31), x[0, :, 0, 0].astype(np.float64)) for rounding in (first, second)]
    image = x.transpose(0, 3, 1, 2) if is_nchw else x
    bound = by_interpolation(image, np.empty((1, 13, 3, 1)), is_nchw=is_nchw)
    assert 0 < np.abs(rows[0] - rows[1]).max() <= bound.max() < 1e-2


def test_equal_cells_lose_nothing_between_them() -> None:
    image = np.ones((1, 4, 4, 2), np.float32) * np.array([1, 1000], np.float32)
    assert not by_interpolation(image, np.empty((1, 8, 8, 2)), is_nchw=False).any()
