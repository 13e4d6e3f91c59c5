"""Small models that represent the operations of each kind, and differ in numbers of operations, MACs and bytes.

Weights are pseudorandom. As in real networks, some channels of unsigned filters have values that a signed symmetric
filter cannot hold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from nnapi.codes import FuseCode, PaddingCode
from nnapi.contract.timings import Element
from nnapi.errors import NnapiError
from nnapi.model.builder import Builder, Tensor
from nnapi.model.facts import Kind
from nnapi.model.model import Model
from nnapi.model.operand import Array, ChannelQuantization, OperandType, tensor

CHAIN = 4
"""Operations in a row, to measure the cost of a single one."""
SCALE = 0.05
TANH = 4
"""The value of the activation in recurrent operations."""
SAME: dict[str, Any] = {"padding_scheme": PaddingCode.PADDING_SAME, "stride_w": 1, "stride_h": 1}
CLIPPED: dict[str, Any] = SAME | {"activation": FuseCode.FUSED_RELU6}

Body = Callable[["Sample", Tensor], Any]
"""The operators applied to the input, one after another."""

SPREAD = np.uint32(2654435769)
"""Multiplier that makes the hashes of neighboring numbers differ: 2³² divided by the golden ratio."""


class Sample:
    """A model of one input under construction, whose values all have one element type."""

    def __init__(self, element: Element) -> None:
        self.b = Builder("sample")
        self.element = element

    def type(self, shape: Sequence[int]) -> OperandType:
        if self.element is Element.FLOAT32:
            return tensor("float32", shape)
        if self.element is Element.OTHER:
            return tensor("int32", shape)
        if self.element is Element.UNSIGNED:
            return tensor("quant8_asymm", shape, SCALE)
        return tensor("quant8_asymm_signed", shape, SCALE)

    def like(self, shape: Sequence[int]) -> dict[str, Any]:
        """Return the arguments that give a result the type of all values."""
        return {"out": self.type(shape)}

    def filter(self, shape: Sequence[int], axis: int) -> Tensor:
        """Return the weights of a convolution; ``axis`` is that of the output channels."""
        if self.element is not Element.SIGNED:
            return self.weights(shape)
        channel = ChannelQuantization(axis, (SCALE,) * shape[axis])
        return self.b.constant(self._make_values(shape), tensor("quant8_symm_per_channel", shape, channel=channel))

    def weights(self, shape: Sequence[int], signed: str = "quant8_asymm_signed") -> Tensor:
        """Return weights with a single scale; ``signed`` names their type if inputs are signed."""
        values = self._make_values(shape)
        if self.element is Element.FLOAT32:
            return self.b.constant(values * np.float32(0.01))
        if self.element is Element.SIGNED:
            return self.b.constant(values, tensor(signed, shape, SCALE))
        unsigned = (values + np.int16(120)).astype(np.uint8)
        unsigned[(0,) * len(shape)] = 255
        return self.b.constant(unsigned, tensor("quant8_asymm", shape, SCALE, 120))

    def bias(self, size: int, scale: float = SCALE * SCALE) -> Tensor:
        if self.element is Element.FLOAT32:
            return self.b.constant(np.zeros(size, np.float32))
        return self.b.constant(np.zeros(size, np.int32), tensor("int32", (size,), scale))

    @property
    def filter_bias_scale(self) -> float:
        """The scale of a filter's bias: 0 if the filter has a scale for each channel."""
        return 0.0 if self.element is Element.SIGNED else SCALE * SCALE

    def _make_values(self, shape: Sequence[int]) -> Array:
        numbers = np.arange(math.prod(shape), dtype=np.uint32) * SPREAD >> 16  # NumPy's generators take 7 MB to import
        return ((numbers % 200).astype(np.int16) - 100).astype(np.int8).reshape(shape)


def samples(kind: Kind, element: Element) -> list[Model]:
    """Return the models that measure a kind; none if it has no recipe or does not support the element type."""
    try:
        return [_make_model(element, *recipe) for recipe in RECIPES.get(kind, ())]
    except NnapiError:
        return []


def _make_model(element: Element, shape: Sequence[int], body: Body, repeats: int) -> Model:
    sample = Sample(element)
    x = sample.b.input(sample.type(shape))
    for _ in range(repeats):
        x = body(sample, x)
    sample.b.output(x)
    return sample.b.finish()


def _convolve(size: int, channels: int) -> Body:
    def body(s: Sample, x: Tensor) -> Any:
        filter, bias = s.filter((channels, size, size, x.shape[-1]), 0), s.bias(channels, s.filter_bias_scale)
        return s.b.conv_2d(x, filter, bias, **CLIPPED, **s.like((*x.shape[:-1], channels)))

    return body


def _convolve_depthwise(size: int) -> Body:
    def body(s: Sample, x: Tensor) -> Any:
        filter, bias = s.filter((1, size, size, x.shape[-1]), 3), s.bias(x.shape[-1], s.filter_bias_scale)
        return s.b.depthwise_conv_2d(x, filter, bias, **CLIPPED, multiplier=1, **s.like(x.shape))

    return body


def _multiply(units: int) -> Body:
    def body(s: Sample, x: Tensor) -> Any:
        return s.b.fully_connected(x, s.weights((units, x.shape[-1])), s.bias(units), **s.like((x.shape[0], units)))

    return body


def _add(s: Sample, x: Tensor) -> Any:
    return s.b.add(x, x, **s.like(x.shape))


def _logistic(s: Sample, x: Tensor) -> Any:
    if s.element is Element.FLOAT32:
        return s.b.logistic(x)
    return s.b.logistic(x, scale=1 / 256, zero_point=0 if s.element is Element.UNSIGNED else -128)


def _pool(s: Sample, x: Tensor) -> Any:
    return s.b.average_pool_2d(x, **SAME, filter_w=2, filter_h=2, **s.like(x.shape))


def _resize(s: Sample, x: Tensor) -> Any:
    _, height, width, depth = x.shape
    size = {"width": 2 * width, "height": 2 * height}
    return cast(Any, s.b).resize_bilinear(x, **size, **s.like((1, 2 * height, 2 * width, depth)))


def _concatenate(s: Sample, x: Tensor) -> Any:
    return s.b.concatenation(x, x, axis=len(x.shape) - 1, **s.like((*x.shape[:-1], 2 * x.shape[-1])))


def _reshape(s: Sample, x: Tensor) -> Any:
    return s.b.reshape(x, list(x.shape[::-1]), **s.like(x.shape[::-1]))


def _recurrent(units: int) -> Body:
    """Apply a recurrent cell to the rows of the input as a sequence: one operation in float32, and one for each step in
    quantized types."""

    def body(s: Sample, x: Tensor) -> Any:
        rows, depth = x.shape
        weights = [s.weights((units, size), "quant8_symm") for size in (depth, units) for _ in range(4)]
        biases = [s.bias(units, 0.0) for _ in range(4)]
        middle = (None, None, None, *biases, None, None)
        sequence = s.b.reshape(x, [rows, 1, depth])
        if s.element is not Element.SIGNED:
            state = s.b.constant(np.zeros((1, units), np.float32))
            end = {"activation": TANH, "cell_clip": 0.0, "proj_clip": 0.0, "time_major": True}
            return cast(Any, s.b).unidirectional_sequence_lstm(sequence, *weights, *middle, state, state, **end)
        types = s.type((1, units)), tensor("quant16_symm", (1, units), 2.0**-11), s.type((1, units))
        hidden, memory = (s.b.constant(np.zeros((1, units), type.dtype), type) for type in types[:2])
        ends = (*[None] * 4, 0.0, 0.0, *[SCALE] * 4, 0, SCALE)
        for step in s.b.split(sequence, axis=0, num_splits=rows):
            row = s.b.reshape(step, [1, depth])
            _, memory, hidden = cast(Any, s.b).quantized_lstm(
                row, *weights, *middle, hidden, memory, *ends, out=list(types)
            )
        return hidden

    return body


RECIPES: dict[Kind, list[tuple[tuple[int, ...], Body, int]]] = {
    Kind.CONVOLUTION: [
        ((1, 8, 8, 8), _convolve(1, 8), CHAIN),
        ((1, 48, 48, 8), _convolve(3, 64), 1),
        ((1, 28, 28, 32), _convolve(3, 32), 1),
        ((1, 14, 14, 256), _convolve(1, 64), 1),
        ((1, 56, 56, 16), _convolve(1, 16), 2),
    ],
    Kind.DEPTHWISE: [
        ((1, 8, 8, 8), _convolve_depthwise(3), CHAIN),
        ((1, 40, 40, 64), _convolve_depthwise(3), 2),
        ((1, 20, 20, 64), _convolve_depthwise(5), 1),
        ((1, 16, 16, 128), _convolve_depthwise(3), 1),
    ],
    Kind.PRODUCT: [
        ((1, 16), _multiply(16), CHAIN),
        ((1, 512), _multiply(512), 1),
        ((49, 128), _multiply(128), 1),
    ],
    Kind.RECURRENT: [((4, 8), _recurrent(8), 1), ((24, 16), _recurrent(16), 1), ((4, 64), _recurrent(64), 1)],
    Kind.ELEMENTWISE: [
        ((1, 16), _add, 1),
        ((1, 16), _add, CHAIN),
        ((1, 32, 32, 64), _add, 1),
        ((1, 32, 32, 64), _add, CHAIN),
    ],
    Kind.TRANSCENDENTAL: [((1, 16), _logistic, CHAIN), ((1, 32, 32, 16), _logistic, 1)],
    Kind.REDUCTION: [((1, 4, 4, 8), _pool, CHAIN), ((1, 32, 32, 32), _pool, 1)],
    Kind.RESIZE: [((1, 4, 4, 8), _resize, 1), ((1, 32, 32, 16), _resize, 1)],
    Kind.MOVEMENT: [((1, 4, 4, 8), _concatenate, 2), ((1, 32, 32, 32), _concatenate, 1)],
    Kind.RESHAPE: [((1, 4, 4, 8), _reshape, CHAIN), ((1, 32, 32, 32), _reshape, 1)],
}
"""The models of each kind: dimensions of the input, operators, and the number of times that they are repeated."""
