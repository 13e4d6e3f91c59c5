"""The choice of layers and tiles."""

import numpy as np
import pytest

import nnapi
from nnapi import Builder, Model
from nnapi.contract.winograd import FORCED, FORCED_IN_BOTH, IN_BOTH, PLAIN, FloatWidth
from nnapi.lowering import tile_choice
from nnapi.lowering.tile_choice import BOTH, DIRECT, Costs, Layer, choose_tile, find_tiles, list_layers, predict
from nnapi.lowering.winograd.transforms import make_transform
from nnapi.model.precision import Precision
from tests.lowering.winograd.winograd_cases import make_chain, make_convolution, make_quantized

MACS_ONLY = Costs(0.0, 1e-12, 0.0, 0.0, 0.0, 0.0, 0.0)
DEAR = Costs(1.0, 1e-12, 0.0, 0.0, 0.0, 0.0, 0.0)
"""Costs of an engine for which only multiplications count, and of one for which only operators count."""
LAYER = Layer((1, 16, 16, 16), 32, (3, 3))


def find(model: Model, variant: str, costs: Costs = MACS_ONLY) -> dict[int, tuple[int, int]]:
    return dict(find_tiles(costs, model, variant, Precision.FLOAT32))


def test_the_time_of_multiplications_falls_as_their_number() -> None:
    times = {tile: predict(MACS_ONLY, LAYER, tile) for tile in (DIRECT, (6, 0), (0, 6), (4, 4), (6, 4), BOTH)}
    assert times[DIRECT] == pytest.approx(1e-12 * 16 * 16 * 16 * 32 * 9)
    shares = [time / times[DIRECT] for time in times.values()]
    assert shares == pytest.approx([1, 1 / 2, 1 / 2, 4 / 9, 1 / 3, 1 / 4])


def test_padding_to_whole_tiles_counts() -> None:
    layer = Layer((1, 13, 16, 16), 32, (3, 3))
    assert predict(MACS_ONLY, layer, (6, 0)) == pytest.approx(predict(MACS_ONLY, LAYER, (6, 0)))


def test_passes_over_images_beyond_the_cache_take_longer() -> None:
    """A transform reads the image for each product; sums and the concatenation read the products."""
    far = Costs(0, 0, 0, 0, 0, 0, 0, far=1.0)
    sums = make_transform(6, 3).count_sums()
    for size, depth, units in ((128, 32, 32), (128, 32, 16), (128, 16, 32), (90, 32, 32), (91, 32, 32)):
        pixels, products = size * size, size * -(-size // 4) * units
        read = 6 * pixels * depth if 4 * pixels * depth > 2**20 else 0
        read += (sums + 4) * products if 4 * pixels * units > 2**20 else 0
        layer = Layer((1, size, size, units), depth, (3, 3))
        assert predict(far, layer, (0, 6)) == read
        assert predict(far, layer, DIRECT) == 0
    assert predict(far, Layer((1, 64, 64, 64), 64, (3, 3)), BOTH) == 0


def test_phases_of_a_dilated_layer_are_padded_to_whole_tiles_and_moved() -> None:
    layer = Layer((1, 64, 64, 16), 32, (3, 3), (4, 2))
    assert predict(MACS_ONLY, layer, (6, 0)) == pytest.approx(predict(MACS_ONLY, layer, DIRECT) / 2)
    odd = Layer((1, 66, 63, 16), 32, (3, 3), (4, 2))
    assert predict(MACS_ONLY, odd, (6, 0)) == pytest.approx(predict(MACS_ONLY, layer, (6, 0)) * 20 / 16)
    plain = Layer((8, 16, 32, 16), 32, (3, 3))
    dear = Costs(0.0, 0.0, 0.0, 0.0, 0.0, 1e-9, 0.0)
    moves = predict(dear, layer, (6, 0)) - predict(dear, plain, (6, 0))
    assert moves == pytest.approx(tile_choice.MOVE * 1e-9 * 64 * 64 * 48)


def test_layers_of_short_phases_stay_direct_unless_they_are_forced() -> None:
    assert choose_tile(MACS_ONLY, Layer((1, 36, 36, 16), 32, (3, 3), (4, 4)), PLAIN)[0] == (6, 4)
    short = Layer((1, 36, 32, 16), 32, (3, 3), (4, 4))
    assert choose_tile(MACS_ONLY, short, PLAIN) == (DIRECT, 0.0)
    assert choose_tile(MACS_ONLY, short, FORCED)[0] == (6, 4)


def test_layers_of_few_output_channels_stay_direct_unless_they_are_forced() -> None:
    for units, tile in ((16, (6, 4)), (15, DIRECT)):
        layer = Layer((1, 16, 16, units), 32, (3, 3))
        assert choose_tile(MACS_ONLY, layer, PLAIN)[0] == tile
        assert choose_tile(MACS_ONLY, layer, FORCED)[0] == (6, 4)


def test_the_fastest_permitted_tile_is_chosen() -> None:
    assert choose_tile(MACS_ONLY, LAYER, PLAIN)[0] == (6, 4)
    assert choose_tile(MACS_ONLY, LAYER, IN_BOTH)[0] == BOTH
    assert choose_tile(DEAR, LAYER, IN_BOTH) == (DIRECT, 0.0)
    tile, saved = choose_tile(DEAR, LAYER, FORCED)
    assert tile == (6, 0)
    assert saved < 0
    assert choose_tile(DEAR, Layer((1, 8, 8, 8), 8, (7, 7)), FORCED_IN_BOTH) == (DIRECT, 0.0)


def test_a_gain_below_5_percent_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tile_choice, "LEAST_GAIN", 3.001)
    assert choose_tile(MACS_ONLY, LAYER, PLAIN)[0] == DIRECT
    monkeypatch.setattr(tile_choice, "LEAST_GAIN", 2.999)
    assert choose_tile(MACS_ONLY, LAYER, PLAIN)[0] == (6, 4)


def test_only_dense_float32_convolutions_with_stride_1_and_constants_are_layers() -> None:
    assert [number for number, _ in list_layers(make_chain(8, 16, 3))] == [0, 1, 2]
    assert not [*list_layers(make_convolution((1, 8, 8, 4), 4, stride=2))]
    computed = Builder()
    x = computed.input(nnapi.tensor("float32", (1, 8, 8, 4)), "x")
    filter = computed.input(nnapi.tensor("float32", (4, 3, 3, 4)), "filter")
    computed.output(computed.conv_2d(x, filter, np.zeros(4, np.float32), "SAME", 1, 1, "NONE"))
    assert not [*list_layers(computed.finish())]
    dynamic = Builder()
    x = dynamic.input(nnapi.tensor("float32", (1, 0, 0, 4)), "x")
    dynamic.output(dynamic.conv_2d(x, np.zeros((4, 3, 3, 4), np.float32), np.zeros(4, np.float32), "SAME", 1, 1, 0))
    assert not [*list_layers(dynamic.finish())]


BYTES = MACS_ONLY._replace(byte_mac=1e-12)


def test_quantized_layers_are_chosen_where_products_of_bytes_are_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    model = make_quantized((1, 8, 8, 16), np.ones((16, 3, 3, 16)))
    assert not [*list_layers(model)]
    ((_, layer),) = list_layers(model, in_bytes=True)
    assert layer._replace(integers=None) == Layer((1, 8, 8, 16), 16, (3, 3))
    for is_fast, tiles in ((False, {0: (4, 4)}), (True, {})):
        monkeypatch.setattr(tile_choice, "has_byte_products", lambda is_fast=is_fast: is_fast)
        assert find(model, PLAIN, BYTES) == find(model, IN_BOTH, BYTES) == tiles
        assert find(model, FORCED, BYTES) == {0: (4, 4)}
        assert find(model, FORCED, MACS_ONLY) == {}, "the engine has no costs of 8-bit layers"


def test_a_quantized_layer_takes_the_fastest_tile_that_is_exact() -> None:
    """All weights and inputs at their ends: along both dimensions, a float32 holds half as many units."""
    for depth, tile in ((14, (4, 4)), (28, (4, 0)), (29, DIRECT)):
        model = make_quantized((1, 8, 8, depth), np.full((16, 3, 3, depth), -128), zero_points=(-128, 0))
        ((_, layer),) = list_layers(model, in_bytes=True)
        for variant in (PLAIN, FORCED):
            assert choose_tile(BYTES, layer, variant)[0] == tile


def test_conversions_of_a_quantized_layer_count() -> None:
    model = make_quantized((1, 8, 6, 16), np.ones((20, 3, 3, 16)))
    ((_, layer),) = list_layers(model, in_bytes=True)
    costs = BYTES._replace(byte_mac=3e-12)
    direct = predict(MACS_ONLY, layer._replace(integers=None), DIRECT)
    assert predict(costs, layer, DIRECT) == pytest.approx(3 * direct)
    assert predict(costs, layer, (4, 0)) == predict(MACS_ONLY, layer._replace(integers=None), (4, 0))
    dear = predict(costs._replace(conversion=1e-9), layer, (4, 0)) - predict(costs, layer, (4, 0))
    assert dear == pytest.approx(1e-9 * 8 * 6 * 36)


def test_only_bytes_with_constants_and_filters_of_three_taps_are_layers() -> None:
    for size, count in ((1, 0), (3, 1), (5, 0)):
        model = make_quantized((1, 8, 8, 4), np.ones((4, size, size, 4)), padding=(0, 0, 0, 0))
        assert len([*list_layers(model, in_bytes=True)]) == count


def test_nothing_is_chosen_for_another_variant_or_a_lower_precision() -> None:
    model = make_chain(8, 16, 2)
    assert find(model, PLAIN) == {0: (6, 4), 1: (6, 4)}
    assert find(model, "") == find(model, "sums in float32") == {}
    assert not find_tiles(MACS_ONLY, model, PLAIN, Precision.FLOAT16)
    assert tile_choice.predict_savings(MACS_ONLY, model, Precision.FLOAT16) == {}


def test_the_memory_of_filters_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tile_choice, "MOST_BYTES", 2 * 4 * 24 * 16 * 16)
    assert list(find(make_chain(8, 16, 3), PLAIN)) == [0, 1]


def test_variants_are_offered_if_they_save_time() -> None:
    model = make_chain(8, 16, 2)
    saved = tile_choice.predict_savings(MACS_ONLY, model, Precision.FLOAT32)
    assert list(saved) == [PLAIN, IN_BOTH]
    assert 0 < saved[PLAIN] < saved[IN_BOTH]
    assert tile_choice.predict_savings(DEAR, model, Precision.FLOAT32) == {}


def test_costs_that_were_not_measured_are_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = {FloatWidth.AVX512: Costs(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8)}
    monkeypatch.setattr(tile_choice, "find_float_width", lambda: FloatWidth.AVX512)
    assert tile_choice.find_costs(measured) == measured[FloatWidth.AVX512]
    monkeypatch.setattr(tile_choice, "find_float_width", lambda: FloatWidth.NEON)
    assert tile_choice.find_costs(measured) == Costs(2.0, 8.0, 6.0, 8.0, 10.0, 12.0, 14.0, 8)
