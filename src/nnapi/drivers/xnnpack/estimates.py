"""What the ways of computing an exact sum of products cost, in seconds relative to a signed filter that just fits.

The figures were measured on one core of a processor with byte dot products; only their proportions matter.
"""

from __future__ import annotations

from nnapi.drivers.xnnpack.graph import Graph, Operator, Tensor

SLICED, JOINED = 2e-9, 3.4e-9
"""For each pixel: slicing a channel off, joining tensors."""
PRODUCT, FLOAT_PRODUCT, DEPTHWISE_PRODUCT = 2.5e-12, 9e-12, 4.5e-11
REQUANTISED, CONVERTED = 5e-11, 4.1e-11
"""For each number: rounding a sum to a code inside a convolution, converting between codes and float32 outside."""
TILE = 16
"""Channels computed at a time."""
STEP = 8
"""Input channels multiplied at a time."""


SUMS = frozenset({"BATCH_MATMUL", "CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV"})
"""Operators that sum products of their first two inputs."""


def products(graph: Graph) -> int:
    """How many products the graph sums, as far as weights tell."""
    return sum(_products(operator) for operator in graph.operators if operator.kind in SUMS)


def _products(operator: Operator) -> int:
    filter = operator.inputs[1]
    assert filter is not None
    return pixels(operator.outputs[0]) * filter.size


def pixels(tensor: Tensor) -> int:
    return tensor.size // tensor.shape[-1]


def rounded(extent: int, step: int) -> int:
    return -(-extent // step) * step


def appended(operator: Operator, copies: int) -> float:
    """Copies of that many channels sliced off and joined to the input."""
    return pixels(_input(operator)) * (JOINED + SLICED * copies) + _deeper(operator, copies)


def doubled(operator: Operator) -> float:
    """The input joined to itself."""
    return pixels(_input(operator)) * JOINED + _deeper(operator, _input(operator).shape[-1])


def in_float(operator: Operator, copies: int = 0) -> float:
    """Computed in float32, the output with copies of that many channels."""
    out = operator.outputs[0]
    taps, depth = _taps(operator)
    units = rounded(out.shape[-1] + copies, TILE)
    each = taps * (depth * FLOAT_PRODUCT - rounded(depth, STEP) * PRODUCT) - REQUANTISED
    return pixels(out) * units * each + (_input(operator).size + out.size) * CONVERTED


def carrying(operator: Operator, copies: int) -> float:
    """Reading an input that carries copies which are found there anyway."""
    return _deeper(operator, copies)


def writing(operator: Operator, copies: int, product: float = PRODUCT) -> float:
    """Making copies of that many channels along with the output."""
    taps, depth = _taps(operator)
    out = operator.outputs[0]
    more = rounded(out.shape[-1] + copies, TILE) - rounded(out.shape[-1], TILE)
    if operator.kind == "DEPTHWISE_CONV_2D":
        return pixels(out) * more * taps * DEPTHWISE_PRODUCT
    return pixels(out) * more * (taps * depth * product + REQUANTISED)


def _deeper(operator: Operator, copies: int) -> float:
    taps, depth = _taps(operator)
    units = rounded(operator.outputs[0].shape[-1], TILE)
    steps = rounded(depth + copies, STEP) - rounded(depth, STEP)
    return pixels(operator.outputs[0]) * units * taps * steps * PRODUCT


def _input(operator: Operator) -> Tensor:
    x = operator.inputs[0]
    assert x is not None
    return x


def _taps(operator: Operator) -> tuple[int, int]:
    """Places of a filter, and channels that it sums over at each."""
    filter = operator.inputs[1]
    assert filter is not None
    depth = filter.shape[-1]
    if operator.kind == "DEPTHWISE_CONV_2D":
        return filter.size // depth, 1
    return filter.size // (filter.shape[0] * depth), depth
