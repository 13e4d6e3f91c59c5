"""Normalization of values relative to others of the same axis or window."""

from collections.abc import Callable

from nnapi.codes import OperationCode as Op
from nnapi.formats.tflite.graph import Tensor, constant
from nnapi.lowering.refusal import require
from nnapi.lowering.tflite.context import TfliteContext, lower
from nnapi.ops.shapes import axis_of


@lower(Op.SOFTMAX)
def softmax(context: TfliteContext, input: Tensor, beta: float, axis: int) -> Tensor:
    return along_last(
        context, input, axis, lambda x: context.emit("SOFTMAX", [x], context.result().like(shape=x.shape), beta=beta)
    )


@lower(Op.LOG_SOFTMAX)
def log_softmax(context: TfliteContext, input: Tensor, beta: float, axis: int) -> Tensor:
    require(beta > 0, f"beta is {beta}, must be above 0")
    return along_last(context, input, axis, lambda x: context.map("LOG_SOFTMAX", subtract_largest(context, x, beta)))


def subtract_largest(context: TfliteContext, x: Tensor, beta: float) -> Tensor:
    """Return (x - maximum along the last axis) · beta; beta · x alone could overflow. Return x itself if beta is 1."""
    if beta == 1:
        return x
    last = len(x.shape) - 1
    largest = context.emit("REDUCE_MAX", [x, constant([last])], x.like(shape=(*x.shape[:-1], 1)), keep_dims=1)
    below = context.combine("SUB", x, largest)
    return context.combine("MUL", below, context.fill(x, beta))


@lower(Op.L2_NORMALIZATION)
def l2_normalization(context: TfliteContext, input: Tensor, axis: int) -> Tensor:
    def normalize(x: Tensor) -> Tensor:
        return context.emit("L2_NORMALIZATION", [x], context.result().like(shape=x.shape), activation=0)

    return along_last(context, input, axis, normalize)


@lower(Op.LOCAL_RESPONSE_NORMALIZATION)
def local_response_normalization(
    context: TfliteContext, input: Tensor, radius: int, bias: float, alpha: float, beta: float, axis: int
) -> Tensor:
    def normalize(x: Tensor) -> Tensor:
        image = context.reshape(x, (1,) * (4 - len(x.shape)) + x.shape)
        options = {"radius": radius, "bias": bias, "alpha": alpha, "beta": beta}
        return context.reshape(context.emit(context.kind, [image], image.like(), **options), x.shape)

    return along_last(context, input, axis, normalize)


@lower(Op.INSTANCE_NORMALIZATION)
def instance_normalization(context: TfliteContext, input: Tensor, gamma: float, beta: float, epsilon: float) -> Tensor:
    """Compute (x - mean) · gamma / √(variance + epsilon) + beta, over height and width of each image."""
    means, image = input.like(shape=(input.shape[0], 1, 1, input.shape[3])), constant([1, 2])
    centered = context.combine("SUB", input, context.emit("MEAN", [input, image], means, keep_dims=1))
    squares = context.combine("MUL", centered, centered)
    variance = context.emit("MEAN", [squares, image], means.like(), keep_dims=1)
    factor = context.map("RSQRT", context.combine("ADD", variance, context.fill(input, epsilon)))
    factor = context.combine("MUL", factor, context.fill(input, gamma))
    return context.combine("ADD", context.combine("MUL", centered, factor), context.fill(input, beta))


def along_last(context: TfliteContext, x: Tensor, axis: int, compute: Callable[[Tensor], Tensor]) -> Tensor:
    """Move ``axis`` to the end, compute along the last axis, and move it back."""
    rank = len(x.shape)
    order = list(range(rank))
    order[axis_of(axis, rank)], order[-1] = order[-1], order[axis_of(axis, rank)]
    return context.transpose(compute(context.transpose(x, order)), order)
