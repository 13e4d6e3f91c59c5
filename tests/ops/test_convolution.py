"""Properties common to all convolutions."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnapi.errors import OpFailedError
from nnapi.model.operand import ChannelQuantization, tensor
from nnapi.ops.convolution import pad_image, patches
from nnapi.ops.convolution_parameters import check_bias
from tests.ops.image_cases import dimensions, pairs, window
from tests.ops.tensor_cases import quickly

NONE = ((0, 0), (0, 0))


def test_padding_is_zero() -> None:
    x = np.array([[[[1], [2]]]], np.float32)
    padded = pad_image(x, ((1, 0), (0, 2)))
    assert padded[0, :, :, 0].tolist() == [[0, 0, 0, 0], [1, 2, 0, 0]]
    assert pad_image(x, NONE) is x


@quickly
@given(st.tuples(*[st.integers(1, 4)] * 4), st.tuples(*[st.integers(0, 3)] * 4))
def test_padding_is_numpys(shape: Any, pads: Any) -> None:
    x = np.random.default_rng(0).normal(size=shape)
    expected = np.pad(x, ((0, 0), pads[:2], pads[2:], (0, 0)))
    assert np.array_equal(pad_image(x, (pads[:2], pads[2:])), expected)


@quickly
@given(st.data(), pairs, pairs, pairs)
def test_patches_are_the_windows(data: Any, size: Any, stride: Any, dilation: Any) -> None:
    shape = [(k - 1) * by + 1 + data.draw(st.integers(0, 3)) for k, by in zip(size, dilation, strict=True)]
    x = np.arange(2 * shape[0] * shape[1] * 3).reshape(2, *shape, 3)
    out = dimensions(shape, size, stride, NONE, dilation)
    cells = patches(x, size, stride, dilation, out)  # type: ignore[arg-type]
    assert cells.shape == (2, *out, *size, 3)
    for n, row, column in np.ndindex(2, *out):
        for tap, pixel in window(x[n], (row, column), size, stride, NONE, dilation):
            assert np.array_equal(cells[(n, row, column, *tap)], pixel)
    if stride[1] == 1:
        rows = patches(x, size, stride, dilation, out, out[1])  # type: ignore[arg-type]
        assert rows.shape == (2, out[0], 1, *size, out[1] * 3)
        side_by_side = cells.transpose(0, 1, 3, 4, 2, 5).reshape(2, out[0], *size, out[1] * 3)
        assert np.array_equal(rows[:, :, 0], side_by_side)


def test_a_bias_is_in_units_of_the_product_of_the_scales() -> None:
    image, filter = tensor("uint8", (), 0.1, 0), tensor("uint8", (), 0.3, 0)
    product = float(np.float32(0.1) * np.float32(0.3))
    check_bias(tensor("int32", (2,), product * (1 + 9e-7)), 2, image, filter)
    with pytest.raises(OpFailedError, match="must be input scale × weights scale = 0.03"):
        check_bias(tensor("int32", (2,), product * (1 + 2e-6)), 2, image, filter, "weights")
    channels = tensor("quant8_symm_per_channel", (2,), channel=ChannelQuantization(0, (1.0, 2.0)))
    check_bias(tensor("int32", (2,)), 2, image, channels)
    with pytest.raises(OpFailedError, match=r"bias has shape \[2\], must be \[3\]"):
        check_bias(tensor("int32", (2,)), 3, image, channels)


def test_padding_that_no_memory_holds() -> None:
    with pytest.raises(OpFailedError, match="input with pad_top 0, pad_bottom 0, pad_left 0, pad_right 4294967296"):
        pad_image(np.zeros((1, 1, 1, 1), np.float32), ((0, 0), (0, 2**32)))
