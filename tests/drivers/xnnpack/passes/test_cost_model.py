"""The predicted seconds of each way to compute sums of products, by timings that are easy to multiply."""

import math
from collections.abc import Iterator
from contextlib import suppress

import pytest

pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")

from nnapi.drivers.xnnpack.passes import cost_model
from nnapi.drivers.xnnpack.passes.cost_model import Dense, Depthwise, KernelTimings, use_timings
from nnapi.formats.tflite.graph import Operator, Tensor

TIMINGS = KernelTimings(
    signed=Dense(1, 10, 100, 4),
    real=Dense(2, 20, 200, 4),
    unsigned=Dense(3, 30, 300, 4),
    signed_depthwise=Depthwise(5, 7),
    real_depthwise=Depthwise(11, 13),
    slicing=10_000,
    concatenation=100_000,
    copying=2,
    conversion=0.5,
)


@pytest.fixture(autouse=True)
def _timings() -> Iterator[None]:
    with use_timings(TIMINGS):
        yield


def operator(kind: str, x: tuple[int, ...], filter: tuple[int, ...], out: tuple[int, ...]) -> Operator:
    tensors = Tensor("i8", x, 0.5), Tensor("u8", filter, 0.5, 9), Tensor("i8", out, 0.5)
    return Operator(kind, [*tensors[:2], None], [tensors[2]])


DENSE = operator("CONV_2D", (1, 5, 6, 12), (7, 3, 2, 12), (1, 5, 6, 7))
"""30 pixels of 7 channels (2 tiles of 4), 6 taps of 12 channels (2 steps of 8): 240 · (1 + 6 · 1610) signed."""
SIGNED, REAL = 2_318_640, 240 * (2 + 6 * (20 + 12 * 200))


def single(depth: int) -> Operator:
    return operator("FULLY_CONNECTED", (1, depth), (1, depth), (1, 1))


def depthwise(depth: int, x: tuple[int, int] = (5, 6), filter: tuple[int, int] = (3, 2)) -> Operator:
    return operator("DEPTHWISE_CONV_2D", (1, *x, depth), (1, *filter, depth), (1, 5, 6, depth))


def test_a_dense_sum_costs_by_tiles_of_channels_taps_and_steps_of_depth() -> None:
    assert cost_model.estimate_dense(DENSE) == SIGNED
    assert cost_model.estimate_dense(DENSE, taps=2, depth=20) == 240 * (1 + 2 * (10 + 24 * 100))
    assert cost_model.estimate_dense(single(8)) == 4 * 4 * (1 + 10 + 800), "a row costs as much as four"
    assert cost_model.estimate_pairs(DENSE, taps=9) == 15 * 16 * (1 + 9 * 1610)


@pytest.mark.parametrize(("copies", "steps"), [(1, 0), (4, 0), (5, 8), (13, 16)])
def test_copies_cost_their_slices_and_the_depth_beyond_whole_steps(copies: int, steps: int) -> None:
    slices = 30 * (2 * 100_000 + 10_000 * copies) + 5 * 6 * 12 * 2
    assert cost_model.estimate_slices(DENSE, copies) == slices + 30 * 8 * 6 * steps * 100


def test_doubling_concatenates_the_input_with_itself() -> None:
    assert cost_model.estimate_doubling(DENSE) == 30 * 2 * 100_000 + 2 * 360 * 2 + 30 * 8 * 6 * 8 * 100


def test_float_costs_conversions_of_input_and_output() -> None:
    assert cost_model.estimate_float(DENSE) == REAL - SIGNED + (360 + 210) * 0.5
    assert cost_model.estimate_dynamic_range(DENSE) == SIGNED + 2 * 360 * 0.5 - REAL


@pytest.mark.parametrize(("numbers", "factor"), [(125_000, 1), (125_001, 2)])
def test_conversions_of_tensors_in_memory_take_twice_as_long(numbers: int, factor: int) -> None:
    x = operator("FULLY_CONNECTED", (1, numbers), (1, numbers), (1, 1))
    signed = 16 * (1 + 10 + 125_000 * 100) if numbers == 125_000 else 16 * (1 + 10 + 125_008 * 100)
    assert cost_model.estimate_dynamic_range(x) == signed + numbers * factor - 16 * (2 + 20 + numbers * 200)


def test_unsigned_filters_of_several_rows_are_between_conversions() -> None:
    unsigned = 240 * (3 + 6 * (30 + 12 * 300))
    assert cost_model.estimate_unsigned(DENSE) == unsigned - SIGNED + 2 * (360 + 210) * 0.5
    with use_timings(TIMINGS._replace(unsigned=None)):
        assert cost_model.estimate_unsigned(DENSE) == math.inf


def test_the_unsigned_filter_of_a_single_row_is_for_large_ones() -> None:
    assert cost_model.estimate_unsigned(single(499_999)) == math.inf
    expected = 500_000 * 6.5 * 100 + 6e-7 - 16 * (1 + 10 + 500_000 * 100)
    assert cost_model.estimate_unsigned(single(500_000)) == pytest.approx(expected, abs=1e-3)
    with use_timings(KernelTimings(signed=Dense(0, 0, 0))):
        assert cost_model.estimate_unsigned(single(500_000)) == pytest.approx(6e-7)


@pytest.mark.parametrize(
    ("copies", "ways"),
    [
        ([0, 3, 5], {"float", "unsigned", "doubled", "appended"}),
        ([0, 3, 5, 7], {"float", "unsigned", "doubled"}),
        ([3, 3], {"float", "unsigned", "appended"}),
        ([0, 3, 3, 5], {"float", "unsigned"}),
    ],
)
def test_ways_depend_on_the_copies(copies: list[int], ways: set[str]) -> None:
    """Doubling copies each channel once; the engine concatenates at most five tensors."""
    found = cost_model.estimate_ways(DENSE, copies)
    assert set(found) == ways
    assert cost_model.estimate_copies(DENSE, copies) == min(found.values())


def test_without_copies_nothing_is_added() -> None:
    assert cost_model.estimate_copies(DENSE, []) == 0


@pytest.mark.parametrize(("depth", "tiles"), [(1, 1), (16, 1), (17, 2), (40, 3)])
def test_a_depthwise_filter_costs_by_tiles(depth: int, tiles: int) -> None:
    assert cost_model.estimate_depthwise(depthwise(40), depth) == 30 * (5 + 6 * 7 * tiles)
    assert cost_model.estimate_depthwise(depthwise(depth)) == 30 * (5 + 6 * 7 * tiles)


def test_a_depthwise_filter_in_float_is_rounded_up_to_tiles() -> None:
    real, signed = 30 * (11 + 6 * 13 * 3), 30 * (5 + 6 * 7 * 3)
    assert cost_model.estimate_float(depthwise(40)) == real - signed + 2 * 30 * 40 * 0.5


@pytest.mark.parametrize(
    ("apart", "real"),
    [(16, 30 * (11 + 6 * 13)), (8, 1.4 * 30 * (11 + 6 * 13)), (32, 30 * (11 + 6 * 13 * 2))],
)
def test_some_channels_in_float_cost_both_filters_and_their_concatenation(apart: int, real: float) -> None:
    rest = 30 * (5 + 6 * 7 * math.ceil((40 - apart) / 16))
    conversions, joined = 2 * 30 * apart * 0.5, 30 * 2 * 100_000 + 30 * 40 * 2
    expected = rest + real - 30 * (5 + 6 * 7 * 3) + conversions + joined
    assert cost_model.estimate_branches(depthwise(40), apart) == pytest.approx(expected)


def find_real(operator: Operator, apart: int) -> float:
    """Return the part of :func:`estimate_branches` that is the filter in float32."""
    with use_timings(KernelTimings(Dense(0, 0, 0), TIMINGS.real, None, Depthwise(0, 0), Depthwise(11, 13), 0, 0, 0, 0)):
        return cost_model.estimate_branches(operator, apart)


@pytest.mark.parametrize(("pixels", "factor"), [((125, 62), 1), ((125, 63), 1.15)])
def test_float_filters_on_tensors_in_memory_take_longer(pixels: tuple[int, int], factor: float) -> None:
    """500,000 bytes are 7812 pixels of 16 channels."""
    assert find_real(depthwise(16, pixels), 16) == pytest.approx(30 * (11 + 6 * 13 * factor))


@pytest.mark.parametrize(("depth", "factor"), [(992, 1), (1008, 2)])
def test_float_filters_beyond_the_nearest_cache_take_twice_as_long(depth: int, factor: int) -> None:
    """48,000 bytes are the data and the filter of 1000 channels at 6 taps."""
    assert find_real(depthwise(depth), depth) == pytest.approx(30 * (11 + 6 * 13 * factor * depth / 16))


@pytest.mark.parametrize(("pixels", "depth", "tiles"), [((100, 125), 10, 1), ((5, 6), 1000, 63)])
def test_the_limits_of_caches_lie_within_them(pixels: tuple[int, int], depth: int, tiles: int) -> None:
    """Exactly 500,000 and 48,000 bytes, of depths that are not multiples of a tile."""
    assert find_real(depthwise(depth, pixels), depth) == pytest.approx(1.4 * 30 * (11 + 6 * 13 * tiles))


def test_timings_hold_within_their_block() -> None:
    assert cost_model.current_timings() is TIMINGS
    with suppress(RuntimeError), use_timings(cost_model.ALL_FLOAT):
        assert cost_model.current_timings() is cost_model.ALL_FLOAT
        raise RuntimeError
    assert cost_model.current_timings() is TIMINGS


def test_the_extremes_choose_one_type_for_all() -> None:
    for operator in (DENSE, depthwise(40), single(64)):
        with use_timings(cost_model.ALL_FLOAT):
            assert cost_model.estimate_float(operator) < 0
        with use_timings(cost_model.ALL_SIGNED):
            assert cost_model.estimate_float(operator) > 0
    assert not cost_model.ALL_SIGNED.is_measured
    assert cost_model.ALL_FLOAT.is_measured
