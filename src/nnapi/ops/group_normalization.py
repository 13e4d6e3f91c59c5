"""Normalize groups of elements to mean 0 and variance 1, as networks for texts and images do.

LAYER_NORM: all elements of the axes from ``axis`` on are one group; then times gamma, plus beta.
RMS_NORM: the same without the mean: elements are divided by the root of the group's mean square.
GROUP_NORM: the channels, the last axis, form groups with all positions of a batch; gamma and beta are per channel.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi.codes import OperandCode
from nnapi.errors import need
from nnapi.model.facts import ROUNDING, Facts, Kind
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import HIGH, Scalar, Tensor, not_negative, positive, upto
from nnapi.model.proposal import Draw, Proposal
from nnapi.operation_codes import CompositeCode
from nnapi.ops.normalization import by_means, by_squares, center
from nnapi.ops.shapes import axis_of, broadcast, need_shape
from nnapi.ops.signature_types import floats

INPUT = Tensor("input", floats(3), rank=upto(4), high=HIGH)
GAMMA, BETA = (
    Tensor(name, like="input", rank=upto(4), high=HIGH, optional=True, since=3) for name in ("gamma", "beta")
)
AXIS = Scalar("axis", OperandCode.INT32, since=3)
EPSILON = Scalar("epsilon", OperandCode.FLOAT32, since=3, check=not_negative)
OUTPUT = Tensor("out", like="input")
GROUPED = 1, 3
"""The axes of one group, after the channels are divided."""

LAYER_NORM = Operation(
    CompositeCode.LAYER_NORM, facts=Facts(Kind.REDUCTION), inputs=(INPUT, GAMMA, BETA, AXIS, EPSILON), outputs=(OUTPUT,)
)
RMS_NORM = Operation(
    CompositeCode.RMS_NORM, facts=Facts(Kind.REDUCTION), inputs=(INPUT, GAMMA, AXIS, EPSILON), outputs=(OUTPUT,)
)
GROUP_NORM = Operation(
    CompositeCode.GROUP_NORM,
    facts=Facts(Kind.REDUCTION),
    inputs=(INPUT, GAMMA, BETA, Scalar("groups", OperandCode.INT32, since=3, check=positive), EPSILON),
    outputs=(OUTPUT,),
)


@LAYER_NORM.shape
@RMS_NORM.shape
def infer_shape(
    input: OperandType, gamma: OperandType | None, axis: int, epsilon: float, beta: OperandType | None = None
) -> Shape:
    group = input.shape[axis_of(axis, input.rank) :]
    for name, factor in (("gamma", gamma), ("beta", beta)):
        if factor is not None and broadcast((name, "each group"), factor.shape, group) != group:
            need_shape(name, factor, group)
    return input.shape


@GROUP_NORM.shape
def infer_group_norm_shape(
    input: OperandType, gamma: OperandType | None, beta: OperandType | None, groups: int, epsilon: float
) -> Shape:
    need(input.rank >= 2, f"input has rank {input.rank}, must have batches and channels")
    channels = input.shape[-1]
    need(channels % groups == 0, f"{channels} channels do not form {groups} groups")
    need_shape("gamma", gamma, (channels,))
    need_shape("beta", beta, (channels,))
    return input.shape


@LAYER_NORM.kernel
def layer_norm(input: Array, gamma: Array | None, beta: Array | None, axis: int, epsilon: float) -> Array:
    axes = list_axes(axis, input.ndim)
    return _scale(_divide(center(input, axes), axes, epsilon), gamma, beta)


@RMS_NORM.kernel
def rms_norm(input: Array, gamma: Array | None, axis: int, epsilon: float) -> Array:
    return _scale(_divide(input, list_axes(axis, input.ndim), epsilon), gamma)


@GROUP_NORM.kernel
def group_norm(input: Array, gamma: Array | None, beta: Array | None, groups: int, epsilon: float) -> Array:
    centered = center(_divide_channels(input, groups), GROUPED)
    return _scale(_divide(centered, GROUPED, epsilon).reshape(input.shape), gamma, beta)


def _divide_channels(x: Array, groups: int) -> Array:
    """Return images as [batch, position, group, channel]."""
    return x.reshape(len(x), -1, groups, x.shape[-1] // groups)


def list_axes(axis: int, rank: int) -> tuple[int, ...]:
    """Return the axes from ``axis`` on."""
    return tuple(range(axis_of(axis, rank), rank))


def _divide(x: Array, axes: tuple[int, ...], epsilon: float) -> Array:
    """Divide by the root of the mean square."""
    return x / np.sqrt(np.square(x).mean(axes, keepdims=True) + np.float32(epsilon))


def _scale(x: Array, gamma: Array | None, beta: Array | None = None) -> Array:
    scaled = x if gamma is None else x * gamma
    return scaled if beta is None else scaled + beta


@LAYER_NORM.loss
def lose_by_layers(inputs: Sequence[Any], outputs: Sequence[Any], precision: str) -> list[Array]:
    x, gamma, _, axis, epsilon = inputs
    return [by_means(x, list_axes(int(axis), x.ndim), gamma, epsilon, ROUNDING[precision])]


@RMS_NORM.loss
def lose_by_roots(inputs: Sequence[Any], outputs: Sequence[Any], precision: str) -> list[Array]:
    x, _, axis, _ = inputs
    return [by_squares(outputs[0], math.prod(x.shape[int(axis) :]), ROUNDING[precision])]


@GROUP_NORM.loss
def lose_by_groups(inputs: Sequence[Any], outputs: Sequence[Any], precision: str) -> list[Array]:
    x, gamma, _, groups, epsilon = inputs
    divided = _divide_channels(x, int(groups))
    factors = None if gamma is None else gamma.reshape(divided.shape[2:])
    return [by_means(divided, GROUPED, factors, epsilon, ROUNDING[precision]).reshape(x.shape)]


@LAYER_NORM.proposal
@RMS_NORM.proposal
def propose_layer_norm(draw: Draw) -> Proposal:
    shape = draw.shape()
    axis = draw.axis(len(shape))
    factors = dict.fromkeys(("gamma", "beta"), draw.pick(shape[axis:], shape[-1:]))
    return Proposal({"input": shape, **factors}, {"axis": axis, "epsilon": draw.pick(1e-5, 1e-3)})


@GROUP_NORM.proposal
def propose_group_norm(draw: Draw) -> Proposal:
    shape = draw.shape(2, 3, 4)
    channels = shape[-1]
    groups = draw.pick(*(count for count in range(1, channels + 1) if channels % count == 0))
    factors = dict.fromkeys(("gamma", "beta"), (channels,))
    return Proposal({"input": shape, **factors}, {"groups": groups, "epsilon": draw.pick(1e-5, 1e-3)})
