"""DEPTHWISE_CONV_2D."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nnapi.codes import OperationCode
from nnapi.model.operand import ChannelQuantization, tensor
from nnapi.model.operation import REGISTRY
from nnapi.ops.convolution import patches
from tests.ops.image_cases import (
    KINDS,
    NONE,
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

DEPTHWISE = OperationCode.DEPTHWISE_CONV_2D
IMAGE = floats([[[[1, 10], [2, 20]], [[3, 30], [4, 40]]]])
TWO = floats(np.float32([[1, 0.5]] * 4).reshape(1, 2, 2, 2))  # type: ignore[arg-type]
BIAS = floats([0, 100])
NO_PADDING = ((0, 0), (0, 0))


def convolution(
    image: Any,
    filter: Any,
    bias: Any,
    padding: Any,
    stride: Any,
    dilation: Any,
    multiplier: Any,
) -> Any:
    """The sum of the definition for every cell of the result."""
    rows, columns = dimensions(image.shape[1:3], filter.shape[1:3], stride, padding, dilation)
    y = np.empty((len(image), rows, columns, filter.shape[3]))
    for n, row, column, channel in np.ndindex(*y.shape):
        cells = window(image[n], (row, column), filter.shape[1:3], stride, padding, dilation)
        products = (pixel[channel // multiplier] * filter[0][tap][channel] for tap, pixel in cells)
        y[n, row, column, channel] = bias[channel] + sum(products)
    return y


def test_literal() -> None:
    y = run(DEPTHWISE, IMAGE, TWO, BIAS, *numbers(VALID, 1, 1, 1), *tail())
    assert y.tolist() == [[[[10, 150]]]]


def test_same_padding() -> None:
    y = run(DEPTHWISE, IMAGE, TWO, BIAS, *numbers(SAME, 1, 1, 1, NONE))
    assert y[0, :, :, 0].tolist() == [[10, 6], [7, 4]]
    assert y[0, :, :, 1].tolist() == [[150, 130], [135, 120]]


def test_each_channel_has_multiplier_results_in_a_row() -> None:
    filter = floats(np.array([1, 2, 3, 4], np.float32).reshape(1, 1, 1, 4))
    y = run(DEPTHWISE, IMAGE, filter, floats([0, 0, 0, 0.5]), *numbers(VALID, 1, 1, 2, NONE))
    assert y[0, 0, 1].tolist() == [2, 4, 60, 80.5]


def test_literal_quantized() -> None:
    image = tensor("uint8", (1, 1, 1, 2), 0.5, 10), np.array([[[[12, 6]]]], np.uint8)  # 1, -2
    filter = tensor("uint8", (1, 1, 1, 2), 0.25, 4), np.array([[[[8, 14]]]], np.uint8)  # 1, 2.5
    bias = tensor("int32", (2,), 0.125), np.array([4, 0], np.int32)  # 0.5, 0
    out = tensor("uint8", (), 1.0, 100)
    y = run(DEPTHWISE, image, filter, bias, *numbers(VALID, 1, 1, 1, NONE), out=out)
    assert y.reshape(-1).tolist() == [102, 95]  # 1.5, -5


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
    depth, multiplier = data.draw(pairs)
    padding = data.draw(paddings(size, dilation))
    activation = data.draw(activations)
    reach = [(k - 1) * by + 1 for k, by in zip(size, dilation, strict=True)]
    image = (data.draw(st.integers(1, 2)), *(dimension + data.draw(st.integers(0, 3)) for dimension in reach), depth)
    x, out = operands(kind, image, (1, *size, depth * multiplier), 3, random)
    given = [to_nchw(x[0]) if nchw else x[0], *x[1:]]
    more = explicit(padding, stride, multiplier) + tail(activation, nchw, dilation)
    y = run(DEPTHWISE, *given, *more, out=unknown(out))
    y = y.transpose(0, 2, 3, 1) if nchw else y
    assert_stores(out, y, clamped(convolution(*real_operands(*x), padding, stride, dilation, multiplier), activation))  # type: ignore[call-arg]


def test_images_of_the_other_layout_need_no_padding() -> None:
    x, out = operands("float32", (1, 4, 5, 3), (1, 2, 2, 3), 3, np.random.default_rng(0))
    y = run(DEPTHWISE, to_nchw(x[0]), *x[1:], *numbers(VALID, 1, 1, 1), *tail(nchw=True))
    assert_stores(out, y.transpose(0, 2, 3, 1), convolution(*real_operands(*x), NO_PADDING, (1, 1), (1, 1), 1))  # type: ignore[call-arg]


def test_one_channel_of_the_other_layout() -> None:
    """NumPy calls it contiguous whatever the stride of its one channel says."""
    image = np.array([1, 2, 3, 4], np.float32).reshape(2, 1, 1, 2)
    filter, bias = np.full((1, 1, 1, 1), 10, np.float32), np.zeros(1, np.float32)
    image = np.lib.stride_tricks.as_strided(image.transpose(0, 2, 3, 1), strides=(8, 8, 4, 8))
    patched = patches(image, (1, 1), (1, 1), (1, 1), (1, 2), run=2)
    assert (np.einsum("nhwijc,ijc->nhwc", patched, np.tile(filter[0], 2)).ravel() + bias).tolist() == [10, 20, 30, 40]


def test_a_batch_of_none() -> None:
    kernel = REGISTRY[DEPTHWISE].kernels[0].function
    empty = kernel(np.zeros((0, 3, 3, 2)), np.ones((1, 2, 2, 2)), np.zeros(2), NO_PADDING, (1, 1), (1, 1), 1)
    assert empty.shape == (0, 2, 2, 2)


def test_refusals() -> None:
    implicit = numbers(VALID, 1, 1, 1, NONE)
    refuses_to_compute("filter has depth 2, must be 2 × 2", DEPTHWISE, IMAGE, TWO, BIAS, *numbers(VALID, 1, 1, 2, NONE))
    refuses_to_compute("multiplier is 0, must be above 0", DEPTHWISE, IMAGE, TWO, BIAS, *numbers(VALID, 1, 1, 0, NONE))
    twice = floats(np.ones((2, 2, 2, 2)))
    refuses_to_compute("the first dimension must be 1", DEPTHWISE, IMAGE, twice, BIAS, *implicit)
    refuses_to_compute("bias has shape [1], must be [2]", DEPTHWISE, IMAGE, TWO, floats([0]), *implicit)
    flat = floats(np.ones((2, 2, 2)))
    refuses_to_compute("input has rank 3, must have rank 4", DEPTHWISE, flat, TWO, BIAS, *implicit)


def test_refuses_scales_along_another_axis_when_added() -> None:
    scales = ChannelQuantization(0, (1.0,))
    filter = tensor("quant8_symm_per_channel", (1, 1, 1, 1), channel=scales), np.array([[[[1]]]], np.int8)
    image = tensor("uint8", (1, 1, 1, 1), 0.5, 10), np.array([[[[12]]]], np.uint8)
    bias = tensor("int32", (1,)), np.array([4], np.int32)
    message = "filter has its scales along dimension 0, must be 3"
    refuses_to_add(message, DEPTHWISE, image, filter, bias, *numbers(VALID, 1, 1, 1, NONE))


def test_levels() -> None:
    assert level(DEPTHWISE, IMAGE, TWO, BIAS, *numbers(VALID, 1, 1, 1, NONE)) == 1
    assert level(DEPTHWISE, IMAGE, TWO, BIAS, *explicit(NO_PADDING, (1, 1), 1, NONE)) == 1
    assert level(DEPTHWISE, IMAGE, TWO, BIAS, *numbers(VALID, 1, 1, 1), *tail(RELU6, False, (1, 1))) == 3
