"""Functions of single numbers."""

from __future__ import annotations

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.drivers.xnnpack.context import Context, lower
from nnapi.drivers.xnnpack.rules import whole_range
from nnapi.formats.tflite.graph import Tensor
from nnapi.lowering.lower import require

KINDS = {"RELU1": "RELU_N1_TO_1"}


@lower(Op.RELU, Op.RELU1, Op.RELU6)
def clamp(context: Context, input: Tensor) -> Tensor:
    return context.emit(KINDS.get(context.operation_name, context.operation_name), [input], context.result())


@lower(Op.TANH)
def tanh(context: Context, input: Tensor) -> Tensor:
    return context.emit("TANH", [input], context.result())


@lower(Op.LOGISTIC)
def logistic(context: Context, input: Tensor) -> Tensor:
    if input.type == "i8":
        return context.emit("LOGISTIC", [input], context.result())
    return whole_range.logistic(context, input, context.result())


@lower(Op.HARD_SWISH)
def hard_swish(context: Context, input: Tensor) -> Tensor:
    """In float32 also for codes, which the engine has no fast kernel for."""
    return context.store(context.emit("HARD_SWISH", [context.real(input)], context.real_result()))


@lower(Op.ELU)
def elu(context: Context, input: Tensor, alpha: float) -> Tensor:
    """alpha (exp(x) - 1) below zero; the engine's own has an alpha of 1."""
    require(alpha > 0, f"alpha is {alpha}: not above 0 it would act above zero as well")
    if alpha == 1:
        return context.emit("ELU", [input], context.result())
    below = context.emit("MINIMUM", [input, context.fill(input, 0)], input.like())
    below = context.emit("ELU", [below], input.like())
    below = context.emit("MUL", [below, context.fill(input, alpha)], input.like(), activation=0)
    above = context.emit("RELU", [input], input.like())
    return context.emit("ADD", [above, below], context.result(), activation=0)


@lower(Op.PRELU)
def prelu(context: Context, input: Tensor, alpha: Tensor) -> Tensor:
    """One slope for all, one for each channel, or, in four operators, any other."""
    x, slope, out = context.real(input), context.real(alpha), context.real_result()
    if slope.data is not None and slope.size == 1 and x.shape == out.shape and np.isfinite(slope.data).all():
        return context.store(context.emit("LEAKY_RELU", [x], out, alpha=slope.data.item()))
    if slope.data is not None and slope.size == slope.shape[-1] == x.shape[-1] and len(x.shape) == 4:
        slope = slope.like(shape=(1, 1, slope.size), data=slope.data.reshape(1, 1, -1))
        return context.store(context.emit("PRELU", [x, slope], out))
    below = context.emit("MINIMUM", [x, context.fill(x, 0)], x.like())
    below = context.emit("MUL", [below, slope], out.like(), activation=0)
    above = context.emit("RELU", [x], x.like())
    return context.store(context.emit("ADD", [above, below], out, activation=0))


@lower(Op.ABS, Op.NEG)
def sign(context: Context, input: Tensor) -> Tensor:
    return context.emit(context.operation_name, [input], context.result())


@lower(Op.FLOOR, Op.LOG, Op.RSQRT, Op.SIN)
def rare(context: Context, input: Tensor) -> Tensor:
    require(input.type != "i8", f"{context.operation_name} of codes may be infinite, which the engine cannot quantise")
    return whole_range.one_by_one(context, context.operation_name, input, context.result())


@lower(Op.SQRT)
def sqrt(context: Context, input: Tensor) -> Tensor:
    require(input.type != "i8", "SQRT of codes may be infinite, which the engine cannot quantise")
    return whole_range.square_root(context, input, context.result())
