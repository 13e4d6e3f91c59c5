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
from nnapi.runtime.device import REFERENCE, device

RANDOM = np.random.default_rng(4)


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
