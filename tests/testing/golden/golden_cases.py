"""Models of one quantized operation, whose first tensor is the input."""

from typing import Any

import numpy as np

from nnapi.model.builder import Builder
from nnapi.model.model import Model
from nnapi.model.operand import Array, ChannelQuantization, OperandType, tensor

SIGNED, UNSIGNED, PER_CHANNEL = "quant8_asymm_signed", "quant8_asymm", "quant8_symm_per_channel"
IMAGE = tensor(SIGNED, (1, 5, 6, 3), 0.05, 7)
ROW = tensor(SIGNED, (2, 40), 0.09, 3)


def draw(type: OperandType, seed: int = 0) -> Array:
    """Return random values of all that the type can store."""
    rng = np.random.default_rng(seed)
    if type.dtype.kind == "f":
        return rng.uniform(-1, 1, type.dimensions).astype(type.dtype)
    limits = np.iinfo(type.dtype)
    low, high = max(limits.min, -(2**13)), min(limits.max, 2**13)
    return rng.integers(low, high, type.dimensions, endpoint=True).astype(type.dtype)


def one_call(name: str, input: OperandType, *others: Any, **more: Any) -> Model:
    """Return a model of one call: of an input, of random constants for types, and of other arguments."""
    builder = Builder(name)
    given = [builder.constant(draw(each, 2), each) if isinstance(each, OperandType) else each for each in others]
    builder.output(getattr(builder, name)(builder.input(input), *given, **more))
    return builder.finish()


def convolution(channels: int, kind: str = SIGNED, layout: bool = False, **settings: Any) -> Model:
    """Return a convolution of 3 channels; a ``multiplier`` in the settings makes it depthwise. If it is signed, each
    channel has a scale of its own."""
    name, axis, shape = "conv_2d", 0, (channels, 3, 2, 3)
    if settings:
        name, axis, shape = "depthwise_conv_2d", 3, (1, 3, 2, channels)
    scales = tuple(0.003 * (1 + channel) for channel in range(channels))
    image, filter = IMAGE, tensor(PER_CHANNEL, shape, channel=ChannelQuantization(axis, scales))
    if kind == UNSIGNED:
        image, filter = tensor(UNSIGNED, IMAGE.dimensions, 0.05, 130), tensor(UNSIGNED, shape, 0.004, 120)
    if layout:
        image = image.with_dimensions((1, 3, 5, 6))
    bias = tensor("int32", (channels,), 0.05 * filter.scale)
    more = {**settings, "layout": layout, "scale": 0.11, "zero_point": 100 if kind == UNSIGNED else -5}
    return one_call(name, image, filter, bias, 0, 1, 1, 1, 1, 2, **more)


def fully_connected(factor: float, weights: list[int]) -> Model:
    """Return a model that multiplies one number by each weight and the factor."""
    builder = Builder("fully_connected")
    row = builder.input(tensor(SIGNED, (1, 1), 1.0))
    filter = builder.constant(np.array(weights, np.int8).reshape(-1, 1), tensor(SIGNED, (len(weights), 1), factor))
    bias = builder.constant(np.zeros(len(weights), np.int32), tensor("int32", (len(weights),), factor))
    builder.output(builder.fully_connected(row, filter, bias, scale=1.0))
    return builder.finish()


def concatenation(scale: float) -> Model:
    builder = Builder("concatenation")
    second = builder.constant(draw(ROW, 5), tensor(SIGNED, ROW.dimensions, 0.11, -4))
    builder.output(builder.concatenation(builder.input(ROW), second, axis=1, scale=scale, zero_point=3))
    return builder.finish()


CASES: dict[str, Model] = {
    "conv_2d": convolution(4),
    "conv_2d of uint8": convolution(4, UNSIGNED),
    "conv_2d as NCHW": convolution(4, layout=True),
    "depthwise_conv_2d": convolution(6, multiplier=2),
    "fully_connected": fully_connected(1 / 8, [-4, 4, -12, 3]),
    "add": one_call("add", IMAGE, tensor(SIGNED, (1, 5, 6, 3), 0.021, -9), "relu", scale=0.04, zero_point=-20),
    "sub": one_call("sub", IMAGE, tensor(SIGNED, (1, 5, 6, 3), 0.07), scale=0.2, zero_point=4),
    "mul": one_call("mul", IMAGE, tensor(SIGNED, (1, 1, 1, 3), 0.021, -9), scale=0.1, zero_point=-2),
    "average_pool_2d": one_call("average_pool_2d", IMAGE, "same", 2, 1, 3, 2, "relu6"),
    "average_pool_2d as NCHW": one_call("average_pool_2d", IMAGE, 0, 0, 0, 0, 1, 1, 2, 2, layout=True),
    "max_pool_2d": one_call("max_pool_2d", IMAGE, "same", 2, 1, 3, 2, "relu"),
    "mean": one_call("mean", IMAGE, np.array([1, 2], np.int32), 0),
    "softmax": one_call("softmax", ROW, 0.7),
    "logistic": one_call("logistic", ROW),
    "concatenation": concatenation(0.2),
    "quantize": one_call("quantize", tensor("float32", (4, 50)), out=tensor(SIGNED, (4, 50), 0.011, 5)),
    "dequantize": one_call("dequantize", ROW, out=tensor("float32", (2, 40))),
    "pad": one_call("pad", ROW, np.array([[1, 0], [2, 3]], np.int32)),
    "transpose": one_call("transpose", ROW, np.array([1, 0], np.int32)),
}
