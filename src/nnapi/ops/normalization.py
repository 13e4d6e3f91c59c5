"""Normalize elements by their neighborhood.

L2_NORMALIZATION: the tensor divided by its Euclidean norm along an axis.
LOCAL_RESPONSE_NORMALIZATION: x / (bias + alpha · sum of squares within the radius)^beta, along an axis.
INSTANCE_NORMALIZATION: each channel of each image normalized to mean 0 and variance 1, times gamma, plus beta.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.model.facts import ROUNDING, Facts, Kind
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import HIGH, REQUIRED, Layout, Scalar, Tensor, not_negative, upto
from nnapi.model.proposal import Draw, Proposal, propose_along_axis
from nnapi.ops.shapes import axis_of, same_shape
from nnapi.ops.signature_types import FLOAT_SCALAR, SIGNED_UNIT, floats, reals
from nnapi.ops.windows import reduce_windows

RANKS = {1: (4,), 3: upto(4)}
AXIS = Scalar("axis", OperandCode.INT32, since=3, default=-1)


L2_NORMALIZATION = Operation(
    OperationCode.L2_NORMALIZATION,
    facts=Facts(Kind.REDUCTION),
    inputs=(Tensor("input", reals(1, quant8=3), rank=RANKS, high=HIGH), AXIS),
    outputs=(Tensor("out", like="input", quant=SIGNED_UNIT),),
)

LOCAL_RESPONSE_NORMALIZATION = Operation(
    OperationCode.LOCAL_RESPONSE_NORMALIZATION,
    inputs=(
        Tensor("input", floats(), rank=RANKS),
        Scalar("radius", OperandCode.INT32, check=not_negative),
        Scalar("bias", like="input", via=FLOAT_SCALAR),
        Scalar("alpha", like="input", via=FLOAT_SCALAR),
        Scalar("beta", like="input", via=FLOAT_SCALAR),
        AXIS,
    ),
    outputs=(Tensor("out", like="input"),),
)

INSTANCE_NORMALIZATION = Operation(
    OperationCode.INSTANCE_NORMALIZATION,
    inputs=(
        Tensor("input", floats(3), rank=4, late_rank=True, image=True),
        *(Scalar(name, like="input", via=FLOAT_SCALAR, since=3) for name in ("gamma", "beta", "epsilon")),
        Layout(default=REQUIRED),
    ),
    outputs=(Tensor("out", like="input", image=True),),
)


INSTANCE_NORMALIZATION.shape(same_shape)


@L2_NORMALIZATION.shape
@LOCAL_RESPONSE_NORMALIZATION.shape
def infer_shape(input: OperandType, axis: int, **others: float) -> Shape:
    axis_of(axis, input.rank)
    return input.shape


@L2_NORMALIZATION.kernel
def l2_normalization(input: Array, axis: int) -> Array:
    length = np.sqrt(np.square(input).sum(axis, keepdims=True))
    return input / np.maximum(length, np.float32(1e-6))  # a slice of zeros stays zero


@LOCAL_RESPONSE_NORMALIZATION.kernel
def local_response_normalization(input: Array, radius: int, bias: float, alpha: float, beta: float, axis: int) -> Array:
    dimension = input.shape[axis]
    squares = reduce_windows(np.add, np.square(input), axis, 2 * radius + 1, 1, radius, dimension, 0)
    return input * (np.float32(bias) + np.float32(alpha) * squares) ** np.float32(-beta)


@INSTANCE_NORMALIZATION.kernel
def instance_normalization(input: Array, gamma: float, beta: float, epsilon: float) -> Array:
    centered = center(input, (1, 2))
    variance = np.square(centered).mean((1, 2), keepdims=True)
    return centered * (np.float32(gamma) / np.sqrt(variance + np.float32(epsilon))) + np.float32(beta)


def center(x: Array, axes: tuple[int, ...]) -> Array:
    """Return elements less their group's mean, which is rounded once: equal elements give 0."""
    return x - x.mean(axes, np.float64, keepdims=True).astype(x.dtype)


@INSTANCE_NORMALIZATION.proposal
def propose_image(draw: Draw) -> Proposal:
    draw.image()
    draw.proposal.scalars["epsilon"] = draw.pick(0.001, 0.01, 0.5, 1.0, 0.0, -1.0)  # engines refuse values below 0
    return draw.proposal


for _operation in (L2_NORMALIZATION, LOCAL_RESPONSE_NORMALIZATION):
    _operation.proposal(propose_along_axis)


@LOCAL_RESPONSE_NORMALIZATION.loss
def lose_by_running_sums(inputs: Sequence[Any], outputs: Sequence[Any], precision: str) -> list[Array]:
    return [by_running_sums(*inputs, rounding=ROUNDING[precision])]


def by_running_sums(
    x: Array, radius: Array, bias: Array, alpha: Array, beta: Array, axis: Array | None = None, *, rounding: float
) -> Array:
    """Return LRN's loss with running sums of squares: an error in the largest sum remains in all later sums."""
    squares = np.moveaxis(np.square(x.astype(np.float64)), int(-1 if axis is None else axis), -1)
    count, reach = squares.shape[-1], min(int(radius), squares.shape[-1])
    sums = np.concatenate([np.zeros((*squares.shape[:-1], 1)), np.cumsum(squares, -1)], -1)
    positions = np.arange(count)
    window = sums[..., np.minimum(positions + reach + 1, count)] - sums[..., np.maximum(positions - reach, 0)]
    rounded = np.maximum.accumulate(window, -1) * rounding * (reach + 2 * (positions + 1))
    exact, power = float(bias) + float(alpha) * window, float(beta)
    with np.errstate(all="ignore"):
        sides = [np.maximum(exact + sign * abs(float(alpha)) * rounded, 0.0) ** -power for sign in (-1, 1)]
        size = np.sqrt(squares)
        moved = np.maximum(*(np.abs(side - exact**-power) * size for side in sides))
    moved = np.where(size == 0, 0.0, np.where(np.isfinite(moved), moved, np.inf))
    return np.moveaxis(moved, -1, int(-1 if axis is None else axis))


@L2_NORMALIZATION.loss
def lose_by_lengths(inputs: Sequence[Any], outputs: Sequence[Any], precision: str) -> list[Array]:
    x, axis = inputs[0], int(inputs[1]) if len(inputs) > 1 else -1
    return [by_squares(outputs[0], x.shape[axis], ROUNDING[precision])]


def by_squares(divided: Array, count: int, rounding: float) -> Array:
    """Return the loss of elements ``divided`` by the root of ``count`` squares, which an engine adds up one by one.

    Each addition rounds a sum that is at most the last one, and the root halves relative errors.
    """
    return np.abs(divided.astype(np.float64)) * (count * rounding / 2)


@INSTANCE_NORMALIZATION.loss
def lose_by_means(inputs: Sequence[Any], outputs: Sequence[Any], precision: str) -> list[Array]:
    x, gamma, _, epsilon, *layout = inputs
    image = (2, 3) if any(layout) else (1, 2)
    return [by_means(x, image, gamma, epsilon, ROUNDING[precision])]


def by_means(x: Array, axes: tuple[int, ...], gamma: Any, epsilon: Any, rounding: float) -> Array:
    """Return the loss of a normalization whose engine sums a group's mean one by one: all its results shift alike.

    It also sums the squares so, around the mean that it found. It may scale elements and mean before it subtracts
    them, even in groups of equal elements.
    """
    wide = x.astype(np.float64)
    size, mean, variance = np.abs(wide), wide.mean(axes, keepdims=True), wide.var(axes, keepdims=True) + float(epsilon)
    count = math.prod(x.shape[axis] for axis in axes)
    shift = size.mean(axes, keepdims=True) * count * rounding
    divided = (wide - mean) / np.sqrt(variance)
    squares = by_squares(divided, count, rounding) + np.abs(divided) * np.square(shift) / (2 * variance)
    moved = (shift + 2 * size * rounding) / np.sqrt(variance) + squares
    moved = np.where(np.isnan(moved), np.inf, moved)  # a group of equal elements, and epsilon is 0
    return moved if gamma is None else moved * np.abs(gamma.astype(np.float64))
