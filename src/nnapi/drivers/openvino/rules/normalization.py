"""Normalization of elements relative to others."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.drivers.openvino.api import op
from nnapi.drivers.openvino.context import OpenvinoContext, align, lower, position_of_axis
from nnapi.drivers.openvino.sizes import integers, reshape
from nnapi.drivers.openvino.value import Node, Value, number
from nnapi.lowering.refusal import require
from nnapi.operation_codes import CompositeCode as Composite
from nnapi.ops.group_normalization import list_axes
from nnapi.ops.shapes import axis_of

IMAGE = (2, 3)
"""Height and width in NCHW."""


@lower(Op.SOFTMAX)
def softmax(context: OpenvinoContext, input: Value, beta: float, axis: int) -> Value:
    """Subtract the maximum before multiplying by beta: products of large elements may be infinite."""
    first = input.is_channels_first
    x, along = input.real(first), position_of_axis(first, axis_of(axis, input.type.rank), input.type.rank)
    if abs(beta) > 1 and not input.type.is_quantized:
        x = op.subtract(x, op.reduce_max(x, integers([along]), True))
    return context.result(op.softmax(_times(x, beta), along), first=first)


@lower(Op.LOG_SOFTMAX)
def log_softmax(context: OpenvinoContext, input: Value, beta: float, axis: int) -> Value:
    require(beta > 0, f"beta is {beta}, with which the specified arithmetic overflows and the engine's does not")
    first = input.is_channels_first
    x = _times(input.real(first), beta)
    return context.result(
        op.log_softmax(x, position_of_axis(first, axis_of(axis, input.type.rank), input.type.rank)), first=first
    )


def _times(x: Node, factor: float) -> Node:
    return x if factor == 1 else op.multiply(x, number(factor))


@lower(Op.L2_NORMALIZATION)
def l2_normalization(context: OpenvinoContext, input: Value, axis: int) -> Value:
    """Divide by the length, but at least half a step: dequantized zeros are slightly off, and must stay zero."""
    first = input.is_channels_first
    x = input.real(first)
    squares = op.reduce_sum(
        op.multiply(x, x), integers([position_of_axis(first, axis_of(axis, input.type.rank), input.type.rank)]), True
    )
    least = input.type.scale / 2 if input.type.is_quantized else 1e-6
    return context.result(op.divide(x, op.maximum(op.sqrt(squares), number(least))), first=first)


@lower(Op.LOCAL_RESPONSE_NORMALIZATION)
def local_response_normalization(
    context: OpenvinoContext, input: Value, radius: int, bias: float, alpha: float, beta: float, axis: int
) -> Value:
    """Sum neighbors along the axis by average pooling of a column, with padding, times the window's size."""
    shape = input.type.dimensions
    axis = axis_of(axis, len(shape))
    radius = min(radius, shape[axis] - 1)
    x, size = input.real(), 2 * radius + 1
    column = integers([1, math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])])
    squares = op.reshape(op.multiply(x, x), column, False)
    mean = op.avg_pool(squares, [1, 1], [radius, 0], [radius, 0], [size, 1], False)
    sums = op.multiply(reshape(mean, shape), number(alpha * size))
    return context.result(op.multiply(x, op.power(op.add(sums, number(bias)), number(-beta))))


@lower(Op.INSTANCE_NORMALIZATION)
def instance_normalization(context: OpenvinoContext, input: Value, gamma: float, beta: float, epsilon: float) -> Value:
    require(epsilon >= 0, f"epsilon is {epsilon}, the engine wants no negative one")
    x = input.real(first=True)
    normal = _normalize(context, x, IMAGE, math.prod(input.type.dimensions[1:3]), epsilon)
    return context.result(op.add(_times(normal, gamma), number(beta)), first=True)


def _normalize(context: OpenvinoContext, x: Node, axes: Sequence[int], count: int, epsilon: float) -> Node:
    """Normalize groups of ``count`` elements along axes by MVN, or by other operators in quantized models.

    There, the engine drops factors before MVN, as if epsilon were 0. ReduceL2 computes the deviation, because the
    engine does not recognize MVN in it.
    """
    along = integers(axes)
    if not context.is_quantized:
        return op.mvn(x, along, True, epsilon, "inside_sqrt")
    off = op.subtract(x, op.reduce_mean(x, along, True))
    deviation = op.multiply(op.reduce_l2(off, along, True), number(count**-0.5))
    return op.divide(off, op.sqrt(op.add(op.multiply(deviation, deviation), number(epsilon))))


@lower(Composite.LAYER_NORM)
def layer_norm(
    context: OpenvinoContext, input: Value, gamma: Value | None, beta: Value | None, axis: int, epsilon: float
) -> Value:
    def normalize(x: Node, axes: Sequence[int]) -> Node:
        count = math.prod(input.type.dimensions[each] for each in list_axes(axis, input.type.rank))
        return _normalize(context, x, axes, count, epsilon)

    return _normalize_groups(context, input, axis, normalize, gamma, beta)


@lower(Composite.RMS_NORM)
def rms_norm(context: OpenvinoContext, input: Value, gamma: Value | None, axis: int, epsilon: float) -> Value:
    """Divide by a root: the engine has no such operator, but one kernel for these."""

    def normalize(x: Node, axes: Sequence[int]) -> Node:
        mean = op.reduce_mean(op.power(x, number(2)), integers(axes), True)
        return op.divide(x, op.sqrt(op.add(mean, number(epsilon))))

    return _normalize_groups(context, input, axis, normalize, gamma, None)


@lower(Composite.GROUP_NORM)
def group_norm(
    context: OpenvinoContext, input: Value, gamma: Value | None, beta: Value | None, groups: int, epsilon: float
) -> Value:
    require(input.type.rank == 4, f"it has rank {input.type.rank}, images in the engine have 4")
    require(not context.is_quantized, "the engine drops factors before it in quantized models")
    channels = input.type.dimensions[3]
    factors = [
        op.constant(np.full(channels, number, np.float32)) if value is None else value.real()
        for number, value in ((1, gamma), (0, beta))
    ]
    return context.result(op.group_normalization(input.real(first=True), *factors, groups, epsilon), first=True)


def _normalize_groups(
    context: OpenvinoContext,
    input: Value,
    axis: int,
    normalize: Callable[[Node, Sequence[int]], Node],
    gamma: Value | None,
    beta: Value | None,
) -> Value:
    """Return normalize(input) · gamma + beta, in the layout of the input."""
    (x, *factors), first = align([input, *(each for each in (gamma, beta) if each is not None)])
    axes = [position_of_axis(first, each, input.type.rank) for each in list_axes(axis, input.type.rank)]
    y = normalize(x, axes)
    if gamma is not None:
        y = op.multiply(y, factors[0])
    return context.result(y if beta is None else op.add(y, factors[-1]), first=first)
