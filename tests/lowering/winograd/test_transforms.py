"""Transforms of minimal filtering, compared with plain correlation."""

import numpy as np
import pytest

from nnapi.lowering.winograd.transforms import CHUNK, POINTS, make_transform, transform_filter

CASES = [(4, 2), (4, 3), (6, 2), (6, 3), (6, 4), (6, 5)]


@pytest.mark.parametrize(("products", "taps"), CASES)
def test_a_tile_has_the_results_of_the_filter(products: int, taps: int) -> None:
    random = np.random.default_rng(products * 10 + taps)
    transform = make_transform(products, taps)
    image, filter = random.standard_normal(products), random.standard_normal(taps)
    results = transform.output @ ((transform.filter @ filter) * (transform.input @ image))
    assert results.shape == (products - taps + 1,)
    np.testing.assert_allclose(results, np.correlate(image, filter), atol=1e-13)


@pytest.mark.parametrize(("products", "taps"), CASES)
def test_image_and_results_are_multiplied_without_rounding(products: int, taps: int) -> None:
    """All factors have few bits; those of results are powers of two."""
    transform = make_transform(products, taps)
    for factors in (transform.input, transform.output):
        np.testing.assert_array_equal(np.round(factors * 16), factors * 16)
    mantissas, _ = np.frexp(transform.output)
    assert set(abs(mantissas).ravel()) <= {0.0, 0.5}


def test_the_product_at_1_reaches_all_results_once() -> None:
    """The bias is added to it."""
    for products in POINTS:
        assert set(make_transform(products, 3).output[:, 1]) == {1.0}


def test_sums_are_counted() -> None:
    assert make_transform(4, 3).count_sums() == 4
    assert make_transform(6, 3).count_sums() == 18


@pytest.mark.parametrize("units", [1, CHUNK, 2 * CHUNK + 3])
@pytest.mark.parametrize(("size", "products"), [((3, 3), (6, 4)), ((3, 5), (0, 6)), ((5, 3), (6, 0))])
def test_filters_are_transformed_in_float64_and_rounded_once(
    units: int, size: tuple[int, int], products: tuple[int, int]
) -> None:
    filter = np.random.default_rng(units).standard_normal((units, *size, 7)).astype(np.float32)
    down, across = (make_transform(n, k) if n else None for n, k in zip(products, size, strict=True))
    found = transform_filter(filter, (down, across))
    taps = [1 if n else k for n, k in zip(products, size, strict=True)]
    assert found.shape == (products[0] or 1, products[1] or 1, units, *taps, 7)
    assert found.dtype == np.float32
    wanted = np.moveaxis(filter.astype(np.float64), 0, 2)[np.newaxis, np.newaxis]
    wanted = wanted.transpose(0, 1, 4, 2, 3, 5)
    if down:
        wanted = np.einsum("ap,xyupqc->ayuxqc", down.filter, wanted)
    if across:
        wanted = np.einsum("bq,xyupqc->xbupyc", across.filter, wanted)
    np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-12)
