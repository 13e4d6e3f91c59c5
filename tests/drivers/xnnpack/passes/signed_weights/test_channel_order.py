"""Orders of channels: what each place holds, where each channel is, and constants put in such an order."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnapi.drivers.xnnpack.passes.signed_weights.channel_order import Order, gather
from nnapi.drivers.xnnpack.passes.signed_weights.channel_splitting import FEW, ROW, Outliers, find_outliers, split
from nnapi.formats.tflite.graph import Operator, Tensor

DEPTH = 6


@st.composite
def orders(draw: st.DrawFn) -> Any:
    begin = draw(st.integers(0, DEPTH - 1))
    span = range(begin, draw(st.integers(begin + 1, DEPTH)))
    channels = st.integers(0, DEPTH - 1)
    instead = draw(st.dictionaries(st.integers(0, len(span) - 1), channels, max_size=3))
    return Order(span, instead, draw(st.lists(channels, max_size=4)))


def unsigned(shape: tuple[int, ...], seed: int, zero_point: int) -> Tensor:
    codes = np.random.default_rng(seed).integers(0, 256, shape, np.uint8)
    return Tensor("u8", shape, 0.5, zero_point, data=codes)


@given(orders())
def test_every_channel_is_where_it_is_said_to_be(order: Order) -> None:
    whole = list(order)
    assert len(whole) == len(order)
    for channel in range(DEPTH):
        assert order.find_indices(channel) == [place for place, held in enumerate(whole) if held == channel]
    assert all(order.find_indices(channel) == places for channel, places in order.find_displaced().items())


def test_a_longer_order_has_the_new_channels_last() -> None:
    assert list(Order(range(3), {0: 2}, [1]).extend([0, 2])) == [2, 1, 2, 1, 0, 2]


@given(orders(), st.integers(0, 2))
def test_slices_are_taken_as_the_order_has_them(order: Order, axis: int) -> None:
    data = np.random.default_rng(0).integers(0, 256, (DEPTH, DEPTH, DEPTH), np.uint8)
    scale = np.arange(DEPTH, dtype=np.float32)
    result = gather(Tensor("i8", data.shape, scale, axis=1, data=data), order, axis)
    assert (result.data == data.take(list(order), axis)).all()
    assert result.shape == result.data.shape
    assert np.array_equal(result.scale, scale[list(order)] if axis == 1 else scale)


@given(orders(), st.sampled_from([0, 3]), st.integers(0, 2**32 - 1), st.integers(0, 255))
def test_where_numbers_do_not_fit_is_known_of_slices_without_a_look(
    order: Order, axis: int, seed: int, zero_point: int
) -> None:
    filter, outliers = unsigned((DEPTH, 1, 2, DEPTH), seed, zero_point), Outliers()
    part = outliers.gather(filter, order, axis)
    assert sorted(outliers[part]) == sorted(Outliers()[part])
    assert part not in outliers.own or not np.shares_memory(part.data, filter.data)


@given(orders(), st.integers(0, 2**32 - 1), st.integers(0, 255))
def test_a_filter_joined_in_an_order_sums_to_what_the_order_holds(order: Order, seed: int, zero_point: int) -> None:
    filter = unsigned((2, 1, 3, DEPTH), seed, zero_point)
    parts, numbers = split(filter, Outliers()[filter]), filter.data.astype(int) - zero_point
    order = order.extend([*range(DEPTH), *parts.channels])
    joined, whole = np.empty((2, 1, 3, len(order)), np.int8), np.array(list(order))
    parts.join(order).write(joined)
    for channel in range(DEPTH):
        assert (joined[..., whole == channel].sum(-1) == numbers[..., channel]).all()


def test_a_filter_is_joined_for_an_output_that_holds_units_in_an_order() -> None:
    filter = unsigned((3, 1, 1, DEPTH), 0, 128)
    parts, order = split(filter, Outliers()[filter]), Order(range(DEPTH))
    order = order.extend(parts.channels)
    plain, copied = parts.join(order), parts.join(order, Order(range(3), {1: 0}, [2, 1]))
    rows, more = (np.empty(tensor.shape, np.int8) for tensor in (plain, copied))
    plain.write(rows)
    copied.write(more)
    assert copied.shape == (5, 1, 1, len(order))
    assert len(copied.scale) == 5  # type: ignore[arg-type]
    assert (more == rows[[0, 0, 2, 2, 1]]).all()


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("size", [5, ROW, 3 * ROW + 5])
@pytest.mark.parametrize("count", [0, 1, 3, FEW + 1])
@pytest.mark.parametrize("is_high", [False, True])
def test_numbers_out_of_reach_are_found_on_either_side(dtype: Any, size: Any, count: Any, is_high: bool) -> None:
    low = np.iinfo(dtype).min
    zero_point, wide = low + (100 if is_high else 150), low + (250 if is_high else 3)
    codes = np.full(size, zero_point, dtype)
    places = np.random.default_rng(size).choice(size, min(count, size), replace=False)
    codes[places] = wide
    found = find_outliers(codes.reshape(1, -1), zero_point)
    assert isinstance(found, list) == (len(places) <= FEW)
    assert list(map(int, found)) == sorted(places.tolist())


def test_numbers_out_of_reach_all_over_a_large_filter_are_found() -> None:
    codes = np.random.default_rng(0).integers(0, 256, (FEW + 2) * ROW + 7, np.uint8)
    assert (find_outliers(codes, 200) == np.flatnonzero(codes < 73)).all()  # type: ignore[union-attr]


@pytest.mark.parametrize("count", [0, 1, 32, 33, 48])
def test_all_numbers_that_do_not_fit_are_found(count: int) -> None:
    codes = np.full(48, 100, np.uint8)
    wide = np.random.default_rng(count).choice(48, count, replace=False)
    codes[wide] = 250
    filter = Tensor("u8", (2, 2, 3, 4), 0.5, 100, data=codes.reshape(2, 2, 3, 4))
    outliers = Outliers()
    assert sorted(map(int, outliers[filter])) == sorted(wide.tolist())
    operator = Operator("CONV_2D", [None, filter, None], [])
    assert outliers.find_slices(operator, 3) == sorted({place % 4 for place in wide.tolist()})
    assert outliers.find_slices(operator, 0) == sorted({place // 24 for place in wide.tolist()})
