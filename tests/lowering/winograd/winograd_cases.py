"""Models of one convolution, and their decompositions."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import nnapi
from nnapi import Builder, Model
from nnapi.contract.driver import PrepareOptions, Request
from nnapi.lowering.decomposition_builder import Decomposition
from nnapi.lowering.lower import KnownTypes, normalize_call
from nnapi.lowering.winograd.decomposition import decompose
from nnapi.model.model import Lifetime
from nnapi.model.operand import ChannelQuantization
from nnapi.runtime.device import REFERENCE, device

RANDOM = np.random.default_rng(4)
IMAGE, WEIGHT = 0.37, 0.013
"""Scales of quantized images and weights."""


def make_convolution(
    image: Sequence[int],
    units: int,
    size: Sequence[int] = (3, 3),
    *,
    padding: Sequence[int] | str = "SAME",
    stride: int = 1,
    activation: str = "RELU",
    layout: bool = False,
    dilation: Sequence[int] = (1, 1),
) -> Model:
    """Return a CONV_2D of an NHWC image; ``padding`` is left, right, top, bottom, or a scheme. ``dilation`` is down and
    across."""
    depth = image[1] if layout else image[3]
    filter = RANDOM.standard_normal((units, *size, depth)).astype(np.float32) / np.sqrt(size[0] * size[1] * depth)
    bias = RANDOM.standard_normal(units).astype(np.float32)
    builder = Builder()
    x = builder.input(nnapi.tensor("float32", tuple(image)), "x")
    around = (padding,) if isinstance(padding, str) else padding
    convolve: Any = builder.conv_2d
    builder.output(convolve(x, filter, bias, *around, stride, stride, activation, layout, *dilation[::-1]))
    return builder.finish()


def make_quantized(
    image: Sequence[int],
    weights: Any,
    bias: Any = None,
    *,
    dtype: str = "quant8_asymm_signed",
    zero_points: Sequence[int] = (0, 0),
    scales: Sequence[float] = (),
    result: tuple[float, int] = (512.0, 0),
    padding: Sequence[int] = (1, 1, 1, 1),
    dilation: int = 1,
    activation: str = "NONE",
    layout: bool = False,
) -> Model:
    """Return a CONV_2D of bytes. ``zero_points`` are those of image and weights, ``scales`` those of the weights'
    channels; ``result`` is the scale, divided by IMAGE and WEIGHT, and the zero point."""
    builder = Builder()
    x = builder.input(nnapi.tensor(dtype, image, IMAGE, zero_points[0]), "x")
    channel = ChannelQuantization(0, tuple(scales)) if scales else None
    type = nnapi.tensor("quant8_symm_per_channel" if scales else dtype, weights.shape, WEIGHT, zero_points[1])
    filter = type.replace(scale=0.0, zero_point=0, channel=channel) if scales else type
    (left, right, top, bottom), (units, *_) = padding, weights.shape
    bias = np.zeros(units, np.int32) if bias is None else bias
    rows, columns = image[2:] if layout else image[1:3]
    extent = dilation * (weights.shape[1] - 1)
    size = [rows + top + bottom - extent, columns + left + right - extent]
    shape = (image[0], units, *size) if layout else (image[0], *size, units)
    convolve: Any = builder.conv_2d
    constants = (
        builder.constant(weights.astype(filter.dtype), filter),
        builder.constant(bias.astype(np.int32), nnapi.tensor("int32", bias.shape, 0.0 if scales else IMAGE * WEIGHT)),
    )
    window = *padding, 1, 1, activation, layout, dilation, dilation
    builder.output(
        convolve(x, *constants, *window, out=nnapi.tensor(dtype, shape, result[0] * IMAGE * WEIGHT, result[1]))
    )
    return builder.finish()


def make_chain(width: int, depth: int, layers: int) -> Model:
    """Return convolutions in a row, each with as many output channels as input channels."""
    builder = Builder()
    x = builder.input(nnapi.tensor("float32", (1, width, width, depth)), "x")
    for _ in range(layers):
        filter = RANDOM.standard_normal((depth, 3, 3, depth)).astype(np.float32) / np.sqrt(9 * depth)
        x = builder.conv_2d(x, filter, np.zeros(depth, np.float32), "SAME", 1, 1, "RELU")
    builder.output(x)
    return builder.finish()


def find_decomposition(model: Model, tile: tuple[int, int]) -> Decomposition:
    """Return the decomposition of a model's only operation with a tile."""
    (call,) = model.operations
    types = KnownTypes(model, {operand.index: operand.type for operand in model.operands})
    values = {operand.index: operand.value for operand in model.operands if operand.lifetime is Lifetime.CONSTANT}
    return decompose(normalize_call(model, call, types, values.get), types, values, tile)


def compute(model: Model, x: Any) -> Any:
    """Return the output of a model on ``nnapi-reference``."""
    prepared = device(REFERENCE).driver.prepare(model, PrepareOptions())
    return prepared.execute(Request([x])).outputs[0]
