"""Numbers relative to those around them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.drivers.xnnpack.context import Context, lower
from nnapi.drivers.xnnpack.rules import whole_range
from nnapi.formats.tflite.graph import Tensor, constant
from nnapi.lowering.lower import require
from nnapi.ops.shapes import axis_of

SMALLEST_NORMAL = float(np.finfo(np.float32).smallest_normal)


@lower(Op.SOFTMAX)
def softmax(context: Context, input: Tensor, beta: float, axis: int) -> Tensor:
    """In float32 also for codes: the engine's kernel for those is slow, and aborts on some scales."""
    return context.store(
        _along_last(context, context.real(input), axis, lambda x: _emit(context, "SOFTMAX", x, beta=beta))
    )


@lower(Op.LOG_SOFTMAX)
def log_softmax(context: Context, input: Tensor, beta: float, axis: int) -> Tensor:
    require(beta > 0, f"beta is {beta}, the engine needs it above 0")
    return _along_last(context, input, axis, lambda x: _emit(context, "LOG_SOFTMAX", _sharpen(context, x, beta)))


def _sharpen(context: Context, x: Tensor, beta: float) -> Tensor:
    """Numbers less the largest of their row, which is what is multiplied by beta, as the product may be infinite."""
    if beta == 1:
        return x
    last = len(x.shape) - 1
    largest = context.emit("REDUCE_MAX", [x, constant([last])], x.like(shape=(*x.shape[:-1], 1)), keep_dims=1)
    below = context.emit("SUB", [x, largest], x.like(), activation=0)
    return context.emit("MUL", [below, context.fill(x, beta)], x.like(), activation=0)


@lower(Op.L2_NORMALIZATION)
def l2_normalization(context: Context, input: Tensor, axis: int) -> Tensor:
    real = _along_last(
        context, context.real(input), axis, lambda x: _emit(context, "L2_NORMALIZATION", x, activation=0)
    )
    return context.store(real)


@lower(Op.LOCAL_RESPONSE_NORMALIZATION)
def local_response_normalization(
    context: Context, input: Tensor, radius: int, bias: float, alpha: float, beta: float, axis: int
) -> Tensor:
    """Written out: the engine's own keeps one running sum for a row, in which large numbers leave their rounding, or
    NaN, to all that follow."""

    def normalise(x: Tensor) -> Tensor:
        reach = min(radius, x.shape[-1] - 1)
        squares = context.emit("MUL", [x, x], x.like(), activation=0)
        around = context.pad(squares, [*[(0, 0)] * (len(x.shape) - 1), (reach, reach)])
        sums = _in_windows(context, around, 2 * reach + 1)
        sums = context.emit("MUL", [sums, context.fill(x, alpha)], x.like(), activation=0)
        sums = context.emit("ADD", [sums, context.fill(x, bias)], x.like(), activation=0)
        factors = whole_range.power(context, sums, context.fill(x, -beta), x.like())
        return context.emit("MUL", [x, factors], x.like(), activation=0)

    require(alpha >= 0, f"alpha is {alpha}: the engine loses precision where sums come near 0")
    require(len(input.shape) <= 4, f"input has rank {len(input.shape)}, the engine takes at most 4")
    return _along_last(context, input, axis, normalise)


def _in_windows(context: Context, x: Tensor, width: int) -> Tensor:
    """The sum of each so many numbers in a row along the last axis: of two windows of half the width, and of one number
    more where that is odd."""
    if width == 1:
        return x
    half, count = width // 2, x.shape[-1] - width + 1
    halves = _in_windows(context, x, half)
    first, second = (_part(context, halves, begin, count) for begin in (0, half))
    sums = context.emit("ADD", [first, second], first.like(), activation=0)
    if width % 2:
        sums = context.emit("ADD", [sums, _part(context, x, width - 1, count)], first.like(), activation=0)
    return sums


def _part(context: Context, x: Tensor, begin: int, count: int) -> Tensor:
    shape = (*x.shape[:-1], count)
    return context.emit("SLICE", [x, constant([0] * (len(shape) - 1) + [begin]), constant(shape)], x.like(shape=shape))


@lower(Op.INSTANCE_NORMALIZATION)
def instance_normalization(context: Context, input: Tensor, gamma: float, beta: float, epsilon: float) -> Tensor:
    """(x - mean) · gamma / √(variance + epsilon) + beta, over each image's height and width."""
    require(
        epsilon >= SMALLEST_NORMAL,
        f"epsilon is {epsilon}: the engine divides by 0 where a variance is below {SMALLEST_NORMAL:.2g}",
    )
    means = input.like(shape=(input.shape[0], 1, 1, input.shape[3]))
    image = constant([1, 2])

    def binary(kind: str, a: Tensor, b: Tensor, like: Tensor) -> Tensor:
        return context.emit(kind, [a, b], like.like(), activation=0)

    centred = binary("SUB", input, context.emit("MEAN", [input, image], means, keep_dims=1), input)
    squares = binary("MUL", centred, centred, input)
    variance = context.emit("MEAN", [squares, image], means.like(), keep_dims=1)
    spread = binary("ADD", variance, context.fill(input, epsilon), means)
    factor = whole_range.one_by_one(context, "RSQRT", spread, means.like())
    factor = binary("MUL", factor, context.fill(input, gamma), means)
    return binary("ADD", binary("MUL", centred, factor, input), context.fill(input, beta), input)


def _emit(context: Context, kind: str, x: Tensor, **options: Any) -> Tensor:
    return context.emit(kind, [x], x.like(), **options)


def _along_last(context: Context, x: Tensor, axis: int, compute: Callable[[Tensor], Tensor]) -> Tensor:
    """Compute along the last axis, where the engine does, with the wanted one moved there and back."""
    rank = len(x.shape)
    order = list(range(rank))
    order[axis_of(axis, rank)], order[-1] = order[-1], order[axis_of(axis, rank)]
    return context.transpose(compute(context.transpose(x, order)), order)
