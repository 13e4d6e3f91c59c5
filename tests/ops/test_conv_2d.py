"""CONV_2D."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnapi.codes import OperationCode
from nnapi.model.operand import ChannelQuantization, tensor
from tests.ops.image_cases import (
    KINDS,
    NONE,
    RELU,
    RELU6,
    SAME,
    VALID,
    activations,
    clamped,
    dimensions,
    explicit,
    floats,
    numbers,
    operands,
    paddings,
    pairs,
    random_seeds,
    real_operands,
    tail,
    to_nchw,
    window,
)
from tests.ops.tensor_cases import assert_stores, level, quickly, refuses_to_add, refuses_to_compute, run, unknown

CONV_2D = OperationCode.CONV_2D
IMAGE = floats(np.arange(1, 10).reshape(1, 3, 3, 1))
ONES = floats(np.ones((1, 2, 2, 1)))
BIAS = floats([0.5])
NO_PADDING = ((0, 0), (0, 0))


def convolution(image: Any, filter: Any, bias: Any, padding: Any, stride: Any, dilation: Any) -> Any:
    """The sum of the definition for every cell of the result."""
    rows, columns = dimensions(image.shape[1:3], filter.shape[1:3], stride, padding, dilation)
    y = np.empty((len(image), rows, columns, len(filter)))
    for n, row, column, channel in np.ndindex(*y.shape):
        cells = window(image[n], (row, column), filter.shape[1:3], stride, padding, dilation)
        y[n, row, column, channel] = bias[channel] + sum(pixel @ filter[channel][tap] for tap, pixel in cells)
    return y


def test_literal() -> None:
    y = run(CONV_2D, IMAGE, ONES, BIAS, *numbers(VALID, 1, 1), *tail())
    assert y[0, :, :, 0].tolist() == [[12.5, 16.5], [24.5, 28.5]]  # 1 + 2 + 4 + 5 and a half, …


def test_same_padding_puts_the_odd_cell_after() -> None:
    y = run(CONV_2D, IMAGE, ONES, BIAS, *numbers(SAME, 1, 1, NONE))
    assert y[0, :, :, 0].tolist() == [[12.5, 16.5, 9.5], [24.5, 28.5, 15.5], [15.5, 17.5, 9.5]]


def test_stride_and_dilation_take_the_width_first() -> None:
    line = floats(np.arange(1, 7).reshape(1, 1, 6, 1))
    pair = floats(np.array([1, 10], np.float32).reshape(1, 1, 2, 1))
    y = run(CONV_2D, line, pair, floats([0]), *explicit(NO_PADDING, (5, 2)), *tail(dilation=(4, 3)))
    assert y.reshape(-1).tolist() == [41, 63]  # 1 + 10·4, 3 + 10·6


def test_literal_quantized() -> None:
    image = tensor("uint8", (1, 1, 1, 2), 0.5, 10), np.array([[[[12, 6]]]], np.uint8)  # 1, -2
    filter = tensor("uint8", (2, 1, 1, 2), 0.25, 4), np.array([[[[8, 0]]], [[[4, 12]]]], np.uint8)  # (1, -1), (0, 2)
    bias = tensor("int32", (2,), 0.125), np.array([4, -8], np.int32)  # 0.5, -1
    out = tensor("uint8", (), 1.0, 100)
    y = run(CONV_2D, image, filter, bias, *numbers(VALID, 1, 1, NONE), out=out)
    assert y.reshape(-1).tolist() == [104, 95]  # 3.5 and -5: halves leave zero
    y = run(CONV_2D, image, filter, bias, *numbers(VALID, 1, 1, RELU), out=out)
    assert y.reshape(-1).tolist() == [104, 100]


def test_scales_of_each_channel() -> None:
    image = tensor("int8", (1, 1, 1, 1), 0.5, 0), np.array([[[[10]]]], np.int8)
    channels = ChannelQuantization(0, (1.0, 0.1))
    filter = (
        tensor("quant8_symm_per_channel", (2, 1, 1, 1), channel=channels),
        np.array([2, 2], np.int8).reshape(2, 1, 1, 1),
    )
    bias = tensor("int32", (2,)), np.array([20, 20], np.int32)  # 10 and 1
    y = run(CONV_2D, image, filter, bias, *numbers(VALID, 1, 1, NONE), out=tensor("int8", (), 1.0, 0))
    assert y.reshape(-1).tolist() == [20, 2]


def test_sums_beyond_float32_are_exact() -> None:
    size = 1200  # 255 · 255 · 1200 is above 2²⁴, where float32 would lose the odd one
    image = tensor("uint8", (1, 1, 1, size), 1.0, 0), np.full((1, 1, 1, size), 255, np.uint8)
    filter = tensor("uint8", (1, 1, 1, size), 1.0, 0), np.full((1, 1, 1, size), 255, np.uint8)
    bias = tensor("int32", (1,), 1.0), np.array([3 - 255 * 255 * size], np.int32)
    y = run(CONV_2D, image, filter, bias, *numbers(VALID, 1, 1, NONE), out=tensor("uint8", (), 2.0, 0))
    assert y.item() == 2  # 1.5


@quickly
@given(st.data(), random_seeds, st.sampled_from(sorted(KINDS)), pairs, pairs, pairs, st.booleans())
def test_is_the_sum_of_the_definition(
    data: Any,
    random: Any,
    kind: str,
    size: Any,
    stride: Any,
    dilation: Any,
    nchw: bool,
) -> None:
    depth, channels = data.draw(pairs)
    padding = data.draw(paddings(size, dilation))
    activation = data.draw(activations)
    reach = [(k - 1) * by + 1 for k, by in zip(size, dilation, strict=True)]
    image = (data.draw(st.integers(1, 2)), *(dimension + data.draw(st.integers(0, 3)) for dimension in reach), depth)
    x, out = operands(kind, image, (channels, *size, depth), 0, random)
    given = [to_nchw(x[0]) if nchw else x[0], *x[1:]]
    y = run(CONV_2D, *given, *explicit(padding, stride), *tail(activation, nchw, dilation), out=unknown(out))
    y = y.transpose(0, 2, 3, 1) if nchw else y
    assert_stores(out, y, clamped(convolution(*real_operands(*x), padding, stride, dilation), activation))  # type: ignore[call-arg]


@quickly
@given(random_seeds, st.integers(1, 6), st.integers(1, 6), pairs, pairs, st.booleans(), st.booleans())
def test_padding_schemes_are_explicit_padding(
    random: Any, height: Any, width: Any, size: Any, stride: Any, same: bool, constant: bool
) -> None:
    if not same and (size[0] > height or size[1] > width):
        return
    x, out = operands("float32", (1, height, width, 2), (3, *size, 2), 0, random)
    padding = NO_PADDING
    if same:
        totals = [
            max(0, (-(-dimension // step) - 1) * step + k - dimension)
            for dimension, k, step in zip((height, width), size, stride, strict=True)
        ]
        padding = tuple((total // 2, total - total // 2) for total in totals)  # type: ignore[assignment]
    scheme = numbers(SAME if same else VALID, stride[1], stride[0], RELU6)
    y = run(CONV_2D, *x, *scheme, constant=constant)
    assert_stores(out, y, clamped(convolution(*real_operands(*x), padding, stride, (1, 1)), RELU6))  # type: ignore[call-arg]


@pytest.mark.parametrize("batches", [1, 2])
def test_blocks_of_rows_are_put_together(monkeypatch: pytest.MonkeyPatch, batches: Any) -> None:
    random = np.random.default_rng(0)
    x, out = operands("float32", (batches, 7, 5, 2), (3, 3, 3, 2), 0, random)
    monkeypatch.setattr("nnapi.ops.convolution.BLOCK", batches * 2 * 3 * 18)  # two of five rows
    y = run(CONV_2D, *x, *numbers(VALID, 1, 1, NONE))
    assert_stores(out, y, convolution(*real_operands(*x), NO_PADDING, (1, 1), (1, 1)))  # type: ignore[call-arg]


def test_refusals() -> None:
    implicit = numbers(VALID, 1, 1, NONE)
    deep = floats(np.ones((1, 2, 2, 2)))
    refuses_to_compute("filter has depth 2, input has 1", CONV_2D, IMAGE, deep, BIAS, *implicit)
    refuses_to_compute("bias has shape [2], must be [1]", CONV_2D, IMAGE, ONES, floats([1, 2]), *implicit)
    refuses_to_compute("padding_scheme is 3, must be 1", CONV_2D, IMAGE, ONES, BIAS, *numbers(3, 1, 1, NONE))
    refuses_to_compute("stride_w is 0, must be above 0", CONV_2D, IMAGE, ONES, BIAS, *numbers(SAME, 0, 1, NONE))
    refuses_to_compute("activation is 4", CONV_2D, IMAGE, ONES, BIAS, *numbers(SAME, 1, 1, 4))
    refuses_to_compute(
        "dilation_h is 0, must be above 0", CONV_2D, IMAGE, ONES, BIAS, *numbers(SAME, 1, 1), *tail(dilation=(0, 1))
    )
    wide = explicit(((0, 0), (2, 0)), (1, 1), NONE)
    refuses_to_compute("pad_left is 2, must not be negative and be below", CONV_2D, IMAGE, ONES, BIAS, *wide)
    large = floats(np.ones((1, 4, 4, 1)))
    refuses_to_compute("no window of 4 × 4 fits input of 3 × 3 cells", CONV_2D, IMAGE, large, BIAS, *implicit)


def test_refuses_a_bias_in_other_units() -> None:
    image = tensor("uint8", (1, 1, 1, 1), 0.5, 10), np.array([[[[12]]]], np.uint8)
    filter = tensor("uint8", (1, 1, 1, 1), 0.25, 4), np.array([[[[8]]]], np.uint8)
    bias = tensor("int32", (1,), 0.1), np.array([4], np.int32)
    message = "bias has scale 0.1, must be input scale × filter scale = 0.125"
    refuses_to_compute(message, CONV_2D, image, filter, bias, *numbers(VALID, 1, 1, NONE))


def test_refuses_ranks_and_lengths_when_added() -> None:
    implicit = numbers(VALID, 1, 1, NONE)
    refuses_to_add("input has rank 3, must have rank 4", CONV_2D, floats(np.ones((3, 3, 1))), ONES, BIAS, *implicit)
    refuses_to_add("filter has rank 2, must have rank 4", CONV_2D, IMAGE, floats(np.ones((1, 1))), BIAS, *implicit)
    one_dilation = [*numbers(VALID, 1, 1), *tail(), *numbers(1)]
    refuses_to_add("got 9", CONV_2D, IMAGE, ONES, BIAS, *one_dilation)
    scales = ChannelQuantization(3, (1.0,))
    filter = tensor("quant8_symm_per_channel", (1, 1, 1, 1), channel=scales), np.array([[[[1]]]], np.int8)
    image = tensor("uint8", (1, 1, 1, 1), 0.5, 10), np.array([[[[12]]]], np.uint8)
    bias = tensor("int32", (1,)), np.array([4], np.int32)
    refuses_to_add("filter has its scales along dimension 3, must be 0", CONV_2D, image, filter, bias, *implicit)


def test_levels() -> None:
    implicit = numbers(VALID, 1, 1, NONE)
    assert level(CONV_2D, IMAGE, ONES, BIAS, *implicit) == 1
    assert level(CONV_2D, IMAGE, ONES, BIAS, *numbers(VALID, 1, 1), *tail()) == 3
    x, out = operands("quant8", (1, 1, 1, 1), (1, 1, 1, 1), 0, np.random.default_rng(0))
    assert level(CONV_2D, *x, *implicit, out=unknown(out)) == 1
    assert level(CONV_2D, *x, *implicit, out=tensor("uint8", (), 0.125, 0)) == 3  # not above the product of the scales


def test_a_constant_filter_gives_the_same() -> None:
    x, out = operands("quant8", (1, 4, 4, 3), (2, 3, 3, 3), 0, np.random.default_rng(0))
    scheme = numbers(SAME, 1, 1, NONE)
    outs = [run(CONV_2D, *x, *scheme, out=unknown(out), constant=constant) for constant in (False, True)]
    assert np.array_equal(*outs)
