"""Values that do not fit into signed bytes: found, and filters computed as sums of two signed ones."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rows import each_row

pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")

from nnapi.drivers.litert.outliers import FEW, ROW, find_outliers
from nnapi.drivers.xnnpack.passes.signed_weights.channel_splitting import Outliers, append_rest, gather, make_signed
from nnapi.formats.tflite.graph import Operator, Tensor


def make_filter(values: Any, zero_point: int) -> Tensor:
    return Tensor("u8", values.shape, 0.1, zero_point, data=values)


def list_copies(values: Any, zero_point: int) -> list[int]:
    return Outliers().list_copies(make_filter(values, zero_point))


def append(values: Any, zero_point: int, copies: list[int]) -> Any:
    """The signed filter, as it is written into a file."""
    filter = make_filter(values, zero_point)
    signed = append_rest(filter, Outliers()[filter], copies)
    result = np.empty(signed.shape, np.int8)
    signed.write(result)
    assert list(signed.scale) == [np.float32(0.1)] * signed.shape[0]  # type: ignore[arg-type]
    return result


@given(st.integers(0, 255), st.integers(0, 2**32 - 1), st.booleans())
def test_the_two_filters_sum_to_the_filter(zero_point: int, seed: int, is_doubled: bool) -> None:
    values = np.random.default_rng(seed).integers(0, 256, (4, 2, 3, 5), np.uint8)
    copies = list_copies(values, zero_point)
    if is_doubled and len(set(copies)) == len(copies):
        copies = [*range(5)]
    signed, order = append(values, zero_point, copies).astype(int), np.array([*range(5), *copies])
    total = np.stack([signed[..., order == channel].sum(-1) for channel in range(5)], -1)
    assert (total == values.astype(int) - zero_point).all()
    assert signed.min() >= -127


@pytest.mark.parametrize(
    ("values", "zero_point", "copies"), [([255, 255, 1], 128, []), ([200, 0, 3], 0, [0]), ([255, 0, 200], 0, [0, 0, 2])]
)
def test_copies_are_those_of_channels_that_do_not_fit(values: list[int], zero_point: int, copies: list[int]) -> None:
    assert list_copies(np.array(values, np.uint8).reshape(1, 1, 1, 3), zero_point) == copies


@pytest.mark.parametrize(
    ("copies", "signed"),
    [
        ([0], [[127, 0, 3, 73], [0, 1, 0, 0]]),
        ([0, 2], [[127, 0, 3, 73, 0], [0, 1, 0, 0, 0]]),
        ([0, 0], [[127, 0, 3, 73, 0], [0, 1, 0, 0, 0]]),
    ],
)
def test_the_first_copy_has_the_remainder(copies: list[int], signed: list[Any]) -> None:
    values = np.array([[200, 0, 3], [0, 1, 0]], np.uint8).reshape(2, 1, 1, 3)
    assert append(values, 0, copies).reshape(2, -1).tolist() == signed


def test_too_few_copies_are_an_error() -> None:
    values = np.array([[255, 0, 3]], np.uint8).reshape(1, 1, 1, 3)
    with pytest.raises(AssertionError, match="too few copies"):
        append(values, 0, [0])


def test_a_filter_that_fits_becomes_signed_and_the_model_keeps_its_own() -> None:
    values = np.array([100, 130, 70], np.uint8).reshape(1, 1, 1, 3)
    assert make_signed(make_filter(values, 100)).value.reshape(-1).tolist() == [0, 30, -30]
    assert values.reshape(-1).tolist() == [100, 130, 70]


@pytest.mark.parametrize("axis", [0, 1])
def test_scales_follow_their_slices(axis: int) -> None:
    data, scale, order = np.arange(12, dtype=np.uint8).reshape(3, 4), np.arange(4, dtype=np.float32), np.array([2, 0])
    result = gather(Tensor("i8", data.shape, scale, axis=1, data=data), order, axis)
    assert result.value.tolist() == data.take(order, axis).tolist()
    assert result.shape == result.value.shape
    assert np.array_equal(result.scale, scale[order] if axis == 1 else scale)


@each_row("dtype", [np.uint8, np.int8])
@each_row("size", [5, ROW, 3 * ROW + 5])
@each_row("count", [0, 1, 3, FEW + 1])
@each_row("is_high", [False, True])
def test_numbers_out_of_reach_are_found_on_either_side(dtype: Any, size: Any, count: Any, is_high: bool) -> None:
    low = np.iinfo(dtype).min
    zero_point, wide = low + (100 if is_high else 150), low + (250 if is_high else 3)
    codes = np.full(size, zero_point, dtype)
    places = np.random.default_rng(size).choice(size, min(count, size), replace=False)
    codes[places] = wide
    found = find_outliers(codes.reshape(1, -1), zero_point)
    assert found.tolist() == sorted(places.tolist())


def test_numbers_out_of_reach_all_over_a_large_filter_are_found() -> None:
    codes = np.random.default_rng(0).integers(0, 256, (FEW + 2) * ROW + 7, np.uint8)
    assert (find_outliers(codes, 200) == np.flatnonzero(codes < 73)).all()


@pytest.mark.parametrize("count", [0, 1, 32, 33, 48])
def test_all_numbers_that_do_not_fit_are_found(count: int) -> None:
    codes = np.full(48, 100, np.uint8)
    wide = np.random.default_rng(count).choice(48, count, replace=False)
    codes[wide] = 250
    filter = Tensor("u8", (2, 2, 3, 4), 0.5, 100, data=codes.reshape(2, 2, 3, 4))
    outliers = Outliers()
    assert outliers[filter].tolist() == sorted(wide.tolist())
    operator = Operator("CONV_2D", [None, filter, None], [])
    assert outliers.find_slices(operator, 3) == sorted({place % 4 for place in wide.tolist()})
    assert outliers.find_slices(operator, 0) == sorted({place // 24 for place in wide.tolist()})
