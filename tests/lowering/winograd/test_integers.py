"""The proof that quantized convolutions with fewer multiplications are exact, and their operands as integers."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from nnapi.lowering.lower import KnownTypes, normalize_call
from nnapi.lowering.winograd import integers
from nnapi.lowering.winograd.integers import Integers, find_multipliers, read_integers
from nnapi.lowering.winograd.transforms import Transform, Transforms, find_transforms
from nnapi.model.model import Lifetime
from tests.lowering.winograd.winograd_cases import IMAGE, WEIGHT, compute, find_decomposition, make_quantized

TILES = (4, 0), (0, 4), (4, 4)


def find_worst(filter: Any, ends: tuple[int, int], transforms: Transforms) -> float:
    """Return the largest product or sum in a layer of one channel, of all images that consist of the range's ends."""
    rows = [4 if each else 3 for each in transforms]
    images = np.array([*product(ends, repeat=rows[0] * rows[1])], np.float64).reshape(-1, *rows)
    return filter_along(images, filter, transforms)


def filter_along(x: Any, filter: Any, transforms: Transforms) -> float:
    down, across = transforms
    if down:
        inner = [
            (np.tensordot(x, row, (1, 0))[:, np.newaxis], (taps @ filter)[np.newaxis])
            for row, taps in zip(down.input, down.filter, strict=True)
        ]
        found = [filter_along(image, each, (None, across)) for image, each in inner]
        return max(*found, find_largest_sum([convolve(*each) for each in inner], down))
    if across:
        inner = [
            (np.tensordot(x, row, (2, 0))[:, :, np.newaxis], (filter @ taps)[:, np.newaxis])
            for row, taps in zip(across.input, across.filter, strict=True)
        ]
        sums = find_largest_sum([convolve(*each) for each in inner], across)
        return max(sums, *(filter_along(*each, (None, None)) for each in inner))
    return float(abs(convolve(x, filter)).max())


def convolve(x: Any, filter: Any) -> Any:
    windows = np.lib.stride_tricks.sliding_window_view(x, filter.shape, (1, 2))
    return np.einsum("nrcij,ij->nrc", windows, filter)


def find_largest_sum(products: list[Any], transform: Transform) -> float:
    first, one, other, last = products
    sums = one + other, one - other
    results = sums[0] + first, sums[1] + last * transform.output[1][3]
    return max(float(abs(each).max()) for each in (*products, *sums, *results))


@pytest.mark.parametrize("tile", TILES)
@pytest.mark.parametrize("ends", [(0, 255), (-30, 225)])
def test_the_bound_is_the_largest_value_of_any_image(
    tile: tuple[int, int], ends: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is reached by an image of one channel, so it could not be lower."""
    random, transforms = np.random.default_rng(0), find_transforms(tile, (3, 3))
    units = 2 ** sum(map(bool, tile))
    for _ in range(2):
        filter = random.integers(-127, 128, (1, 3, 3, 1)).astype(np.int8)
        given = Integers(filter, 0, np.zeros(1, np.int32), *ends)
        worst = units * find_worst(filter[0, :, :, 0].astype(float), ends, transforms)
        for most, is_exact in ((worst, False), (worst + 1, True)):
            monkeypatch.setattr(integers, "MOST", most)
            assert given.are_exact(transforms) is is_exact


def test_channels_and_biases_add_up() -> None:
    """The bound of the direct sum decides here: 255 · 255 · 9 for each channel, and the bias."""
    transforms = find_transforms((4, 0), (3, 3))
    most = ((1 << 23) - 1) // (255 * 255 * 9)
    filter = np.full((20, 3, 3, most), 255, np.uint8)
    bias = np.zeros(20, np.int32)
    assert Integers(filter, 0, bias, 0, 255).are_exact(transforms)
    left = (1 << 23) - 1 - 255 * 255 * 9 * most
    bias[19] = -left
    assert Integers(filter, 0, bias, 0, 255).are_exact(transforms)
    bias[19] = -left - 1
    assert not Integers(filter, 0, bias, 0, 255).are_exact(transforms)
    assert not Integers(filter.repeat(2, 3), 0, 0 * bias, 0, 255).are_exact(transforms)


def test_operands_are_stored_values_minus_zero_points() -> None:
    weights, bias = np.arange(18).reshape(2, 3, 3, 1), np.array([3, -4])
    model = make_quantized((1, 4, 4, 1), weights, bias, dtype="quant8_asymm", zero_points=(7, 5), result=(3.1, 0))
    (call,) = model.operations
    types = KnownTypes(model, {operand.index: operand.type for operand in model.operands})
    values = {operand.index: operand.value for operand in model.operands if operand.lifetime is Lifetime.CONSTANT}
    normal = normalize_call(model, call, types, values.get)
    given = read_integers(normal, types, values)
    np.testing.assert_array_equal(given.filter(), weights - 5)
    np.testing.assert_array_equal(given.bias, bias)
    assert (given.least, given.greatest) == (-7, 248)
    assert find_multipliers(normal, types).tolist() == [
        np.float32(IMAGE) * np.float32(WEIGHT) / np.float32(3.1 * IMAGE * WEIGHT)
    ]


@pytest.mark.parametrize("scales", [(), (0.013, 0.02, 0.001)])
@pytest.mark.parametrize("tile", TILES)
def test_the_decomposition_rounds_once(tile: tuple[int, int], scales: Any) -> None:
    """Operation by operation, as NNAPI specifies them: the sum, times one factor, rounded."""
    random = np.random.default_rng(1)
    weights, x = random.integers(-127, 128, (3, 3, 3, 4)), random.integers(-128, 128, (1, 7, 6, 4)).astype(np.int8)
    model = make_quantized(x.shape, weights, scales=scales, zero_points=(-20, 0), result=(248.0, 11))
    found = compute(find_decomposition(model, tile).model, x)
    windows = np.lib.stride_tricks.sliding_window_view(
        np.pad(x + 20.0, [(0, 0), (1, 1), (1, 1), (0, 0)]), (3, 3), (1, 2)
    )
    sums = np.einsum("nrcdij,uijd->nrcu", windows, weights).astype(np.float32)
    factors = np.float32(IMAGE) * np.array(scales or [WEIGHT], np.float32) / np.float32(248.0 * IMAGE * WEIGHT)
    np.testing.assert_array_equal(found, np.clip(np.rint(sums * factors) + 11, -128, 127))
