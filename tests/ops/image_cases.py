"""Shared by tests of convolutions and pooling: arguments, and windows computed one element at a time."""

import itertools
from typing import Any

import numpy as np
from hypothesis import strategies as st

from nnapi.model.operand import ChannelQuantization, tensor
from tests.ops.tensor_cases import flag, int32, reals, stored

SAME, VALID = 1, 2
NONE, RELU, RELU1, RELU6 = range(4)

KINDS = {
    "float32": (tensor("float32"), tensor("float32"), tensor("float32")),
    "float16": (tensor("float16"), tensor("float16"), tensor("float16")),
    "quant8": (tensor("uint8", (), 0.5, 120), tensor("uint8", (), 0.25, 100), tensor("uint8", (), 60, 100)),
    "quant8_signed": (tensor("int8", (), 0.5, -3), tensor("int8", (), 0.25, 7), tensor("int8", (), 60, 5)),
    "per_channel": (tensor("uint8", (), 0.5, 120), tensor("quant8_symm_per_channel"), tensor("uint8", (), 60, 100)),
    "signed_per_channel": (tensor("int8", (), 0.5, 0), tensor("quant8_symm_per_channel"), tensor("int8", (), 60, 0)),
}
"""Types of image, filter and result that go together."""


def floats(array: Any) -> tuple[Any, ...]:
    """A float32 input."""
    array = np.asarray(array, np.float32)
    return tensor("float32", array.shape), array


def numbers(*values: int) -> list[Any]:
    """INT32 scalars in a row."""
    return [int32(value) for value in values]


def explicit(padding: tuple[Any, ...], stride: tuple[int, ...], *more: int) -> list[Any]:
    """Padding ((top, bottom), (left, right)) and stride (height, width) in the order of the specification."""
    (top, bottom), (left, right) = padding
    return numbers(left, right, top, bottom, stride[1], stride[0], *more)


def tail(activation: int = NONE, nchw: bool = False, dilation: tuple[int, ...] | None = None) -> list[Any]:
    """Activation, layout and, where given, dilation (height, width)."""
    return [int32(activation), flag(nchw), *(numbers(dilation[1], dilation[0]) if dilation else ())]


def operands(kind: str, image: Any, filter: Any, channel: Any, random: Any) -> Any:
    """Random image, filter and bias of one of the KINDS, and the result's type; scales differ along ``channel``."""
    image_type, filter_type, out = KINDS[kind]
    scales = tuple(0.125 * (1 + i % 3) for i in range(filter[channel]))
    quantization = ChannelQuantization(channel, scales) if "per_channel" in kind else None
    image_type = image_type.with_dimensions(image)
    filter_type = tensor(filter_type.code, filter, filter_type.scale, filter_type.zero_point, quantization)  # type: ignore[arg-type]
    bias_type = tensor("int32", (filter[channel],), 0 if quantization else image_type.scale * filter_type.scale)
    if not image_type.is_quantized:
        bias_type = image_type.with_dimensions((filter[channel],))
        values = [quarters(type.dimensions, type.dtype, random) for type in (image_type, filter_type)]
        bias = quarters(filter[channel], bias_type.dtype, random)
    else:
        values = [stored(type, random) for type in (image_type, filter_type)]
        bias = random.integers(-99, 100, filter[channel], np.int32)
    return [(image_type, values[0]), (filter_type, values[1]), (bias_type, bias)], out


def quarters(shape: Any, dtype: Any, random: Any) -> Any:
    """Numbers whose products and sums are exact."""
    return (random.integers(-8, 9, shape) / 4).astype(dtype)


def real_operands(image: tuple[Any, ...], filter: tuple[Any, ...], bias: tuple[Any, ...]) -> tuple[Any, ...]:
    """The real numbers behind image, filter and bias."""
    return _real(*image), _real(*filter), _real_bias(image[0], filter[0], bias)


def _real(type: Any, codes: Any) -> Any:
    return codes * type.channel.broadcast(codes.ndim).astype(float) if type.channel else reals(type, codes) * 1.0


def _real_bias(image: Any, filter: Any, bias: tuple[Any, ...]) -> Any:
    if not image.is_quantized:
        return bias[1] * 1.0
    scales = filter.channel.scales if filter.channel else filter.scale
    return bias[1] * np.asarray(scales, float) * image.scale


def to_nchw(x: tuple[Any, ...]) -> tuple[Any, ...]:
    """An NHWC input, type and value, in the other layout."""
    type, value = x
    axes = (0, 3, 1, 2)
    return type.with_dimensions([value.shape[i] for i in axes]), np.ascontiguousarray(value.transpose(axes))


def dimensions(
    image: Any,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    padding: tuple[Any, ...],
    dilation: tuple[int, ...] = (1, 1),
) -> tuple[int, ...]:
    """Dimensions of a result, from counting the places where a window fits."""
    return tuple(
        sum(1 for at in range(0, cells + sum(pads), step) if at + (k - 1) * by < cells + sum(pads))
        for cells, k, step, pads, by in zip(image, size, stride, padding, dilation, strict=True)
    )


def window(image: Any, at: Any, size: Any, stride: Any, padding: Any, dilation: Any = (1, 1)) -> Any:
    """The cells inside the image that the window ``at`` (row, column) covers: (row, column) in the window and pixel."""
    for i, j in itertools.product(*map(range, size)):
        row = at[0] * stride[0] + i * dilation[0] - padding[0][0]
        column = at[1] * stride[1] + j * dilation[1] - padding[1][0]
        if 0 <= row < image.shape[0] and 0 <= column < image.shape[1]:
            yield (i, j), image[row, column]


def clamped(real: Any, activation: int) -> Any:
    """Apply a fused activation to float values."""
    low, high = {NONE: (-np.inf, np.inf), RELU: (0, np.inf), RELU1: (-1, 1), RELU6: (0, 6)}[activation]
    return np.clip(real, low, high)


pairs = st.tuples(st.integers(1, 3), st.integers(1, 3))
activations = st.sampled_from([NONE, RELU, RELU1, RELU6])
random_seeds = st.integers(0, 2**32).map(np.random.default_rng)


def paddings(size: tuple[int, ...], dilation: tuple[int, ...] = (1, 1)) -> Any:
    """Explicit padding below the reach of a window."""
    return st.tuples(*(st.tuples(*[st.integers(0, (k - 1) * by)] * 2) for k, by in zip(size, dilation, strict=True)))
