"""SOFTMAX, LOG_SOFTMAX, L2_NORMALIZATION, LOCAL_RESPONSE_NORMALIZATION, INSTANCE_NORMALIZATION, LAYER_NORM, RMS_NORM,
GROUP_NORM."""

import math

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.lowering.decomposition_builder import Decomposition, decomposition
from nnapi.lowering.decompositions.binary import broadcast
from nnapi.model.builder import Tensor
from nnapi.model.operand import Shape
from nnapi.operation_codes import CompositeCode as Composite
from nnapi.ops.shapes import axis_of

LEAST = 1e-30
"""The smallest epsilon with which a mean of squares is a normal float; engines take smaller floats for 0."""


def _below_largest(b: Decomposition, x: Tensor, beta: float, axis: int) -> Tensor:
    """Return (x - maximum along ``axis``) · beta."""
    return (x - b.reduce_max(x, [axis], True)) * beta


@decomposition(Op.SOFTMAX)
def softmax(b: Decomposition, input: Tensor, beta: float, axis: int) -> Tensor:
    powers = b.exp(_below_largest(b, input, beta, axis))
    return powers / b.reduce_sum(powers, [axis], True)


@decomposition(Op.LOG_SOFTMAX)
def log_softmax(b: Decomposition, input: Tensor, beta: float, axis: int) -> Tensor:
    below = _below_largest(b, input, beta, axis)
    return below - b.log(b.reduce_sum(b.exp(below), [axis], True))


@decomposition(Op.L2_NORMALIZATION)
def l2_normalization(b: Decomposition, input: Tensor, axis: int) -> Tensor:
    length = b.sqrt(b.reduce_sum(input * input, [axis], True))
    return input / b.maximum(length, 1e-6)


@decomposition(Op.LOCAL_RESPONSE_NORMALIZATION)
def local_response_normalization(
    b: Decomposition, input: Tensor, radius: int, bias: float, alpha: float, beta: float, axis: int
) -> Tensor:
    """Sum the squares of neighboring channels by a product with a band matrix of ones."""
    rank = len(input.shape)
    axis = axis_of(axis, rank)
    order = [*(i for i in range(rank) if i != axis), axis]
    x = b.transpose(input, order)
    size = x.shape[-1]
    indices = np.arange(size)
    band = (np.abs(indices - indices[:, None]) <= radius).astype(np.float32)
    rows = b.reshape(x * x, (math.prod(x.shape) // size, size))
    sums = b.reshape(b.fully_connected(rows, b.constant(band), b.constant(np.zeros(size, np.float32)), 0), x.shape)
    return b.transpose(x * b.pow(sums * alpha + bias, -beta), [int(i) for i in np.argsort(order)])


@decomposition(Op.INSTANCE_NORMALIZATION)
def instance_normalization(b: Decomposition, input: Tensor, gamma: float, beta: float, epsilon: float) -> Tensor:
    centered = input - b.mean(input, [1, 2], 1)
    variance = b.mean(centered * centered, [1, 2], 1)
    return centered * (gamma / b.sqrt(variance + epsilon)) + beta


@decomposition(Composite.LAYER_NORM)
def layer_norm(
    b: Decomposition, input: Tensor, gamma: Tensor | None, beta: Tensor | None, axis: int, epsilon: float
) -> Tensor:
    x, axes, shape = _merge_groups(b, input, axis)
    normal = _divide_by_root(b, x - b.mean(x, axes, 1), axes, epsilon)
    return b.reshape(_scale(b, normal, shape, gamma, beta), input.shape)


@decomposition(Composite.RMS_NORM)
def rms_norm(b: Decomposition, input: Tensor, gamma: Tensor | None, axis: int, epsilon: float) -> Tensor:
    x, axes, shape = _merge_groups(b, input, axis)
    return b.reshape(_scale(b, _divide_by_root(b, x, axes, epsilon), shape, gamma, None), input.shape)


@decomposition(Composite.GROUP_NORM)
def group_norm(
    b: Decomposition, input: Tensor, gamma: Tensor | None, beta: Tensor | None, groups: int, epsilon: float
) -> Tensor:
    """Reduce each channel first, which engines do faster than groups of an inner axis."""
    batches, channels = input.shape[0], input.shape[-1]
    x = b.reshape(input, (batches, math.prod(input.shape[1:-1]), channels))
    by_group, by_channel = (batches, groups, channels // groups), (batches, 1, channels)
    ones = b.constant(np.ones((groups, channels // groups), input.type.dtype))

    def mean_of(x: Tensor) -> Tensor:
        return b.mean(b.reshape(b.mean(x, [1], 1), by_group), [2], 1)

    def spread(x: Tensor) -> Tensor:
        return b.reshape(x * ones, by_channel)

    centered = x - spread(mean_of(x))
    inverse = spread(_invert_root(b, mean_of(centered * centered), epsilon))
    normal = centered * (inverse if gamma is None else inverse * gamma)
    return b.reshape(normal if beta is None else normal + beta, input.shape)


def _merge_groups(b: Decomposition, input: Tensor, axis: int) -> tuple[Tensor, list[int], Shape]:
    """Return the input with the normalized axes merged to the last one, that axis, and the shape of a group."""
    axis = axis_of(axis, len(input.shape))
    group = input.shape[axis:]
    merged = b.reshape(input, (*input.shape[:axis], math.prod(group)))
    return merged, [axis], group


def _divide_by_root(b: Decomposition, x: Tensor, axes: list[int], epsilon: float) -> Tensor:
    return x * _invert_root(b, b.mean(x * x, axes, 1), epsilon)


def _invert_root(b: Decomposition, square: Tensor, epsilon: float) -> Tensor:
    """Return 1 / √(square + epsilon). XNNPACK's square root is fast; its reciprocal root is not exact."""
    total = square + epsilon
    return 1 / b.sqrt(total) if epsilon >= LEAST else b.rsqrt(total)


def _scale(b: Decomposition, x: Tensor, group: Shape, gamma: Tensor | None, beta: Tensor | None) -> Tensor:
    """Return x · gamma + beta; the factors broadcast to ``group``, whose axes are merged in x."""
    scaled = x if gamma is None else x * _merge(b, gamma, group)
    return scaled if beta is None else scaled + _merge(b, beta, group)


def _merge(b: Decomposition, factor: Tensor, group: Shape) -> Tensor:
    if math.prod(factor.shape) not in (1, math.prod(group)):
        factor = broadcast(b, factor, group)
    return b.reshape(factor, (math.prod(factor.shape),))
