"""Functions of single numbers."""

from __future__ import annotations

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.drivers.xnnpack.lowering import lower
from nnapi.drivers.xnnpack.rules import whole_range
from nnapi.drivers.xnnpack.site import Site, need
from nnapi.formats.tflite.graph import Tensor

KINDS = {"RELU1": "RELU_N1_TO_1"}


@lower(Op.RELU, Op.RELU1, Op.RELU6)
def clamp(site: Site, input: Tensor) -> Tensor:
    return site.emit(KINDS.get(site.operation_name, site.operation_name), [input], site.result())


@lower(Op.TANH)
def tanh(site: Site, input: Tensor) -> Tensor:
    return site.emit("TANH", [input], site.result())


@lower(Op.LOGISTIC)
def logistic(site: Site, input: Tensor) -> Tensor:
    if input.type == "i8":
        return site.emit("LOGISTIC", [input], site.result())
    return whole_range.logistic(site, input, site.result())


@lower(Op.HARD_SWISH)
def hard_swish(site: Site, input: Tensor) -> Tensor:
    """In float32 also for codes, which the engine has no fast kernel for."""
    return site.stored(site.emit("HARD_SWISH", [site.real(input)], site.real_result()))


@lower(Op.ELU)
def elu(site: Site, input: Tensor, alpha: float) -> Tensor:
    """alpha (exp(x) - 1) below zero; the engine's own has an alpha of 1."""
    need(alpha > 0, f"alpha is {alpha}: not above 0 it would act above zero as well")
    if alpha == 1:
        return site.emit("ELU", [input], site.result())
    below = site.emit("MINIMUM", [input, site.filled(input, 0)], input.like())
    below = site.emit("ELU", [below], input.like())
    below = site.emit("MUL", [below, site.filled(input, alpha)], input.like(), activation=0)
    above = site.emit("RELU", [input], input.like())
    return site.emit("ADD", [above, below], site.result(), activation=0)


@lower(Op.PRELU)
def prelu(site: Site, input: Tensor, alpha: Tensor) -> Tensor:
    """One slope for all, one for each channel, or, in four operators, any other."""
    x, slope, out = site.real(input), site.real(alpha), site.real_result()
    if slope.data is not None and slope.size == 1 and x.shape == out.shape and np.isfinite(slope.data).all():
        return site.stored(site.emit("LEAKY_RELU", [x], out, alpha=slope.data.item()))
    if slope.data is not None and slope.size == slope.shape[-1] == x.shape[-1] and len(x.shape) == 4:
        slope = slope.like(shape=(1, 1, slope.size), data=slope.data.reshape(1, 1, -1))
        return site.stored(site.emit("PRELU", [x, slope], out))
    below = site.emit("MINIMUM", [x, site.filled(x, 0)], x.like())
    below = site.emit("MUL", [below, slope], out.like(), activation=0)
    above = site.emit("RELU", [x], x.like())
    return site.stored(site.emit("ADD", [above, below], out, activation=0))


@lower(Op.ABS, Op.NEG)
def sign(site: Site, input: Tensor) -> Tensor:
    return site.emit(site.operation_name, [input], site.result())


@lower(Op.FLOOR, Op.LOG, Op.RSQRT, Op.SIN)
def rare(site: Site, input: Tensor) -> Tensor:
    need(input.type != "i8", f"{site.operation_name} of codes may be infinite, which the engine cannot quantise")
    return whole_range.one_by_one(site, site.operation_name, input, site.result())


@lower(Op.SQRT)
def sqrt(site: Site, input: Tensor) -> Tensor:
    need(input.type != "i8", "SQRT of codes may be infinite, which the engine cannot quantise")
    return whole_range.square_root(site, input, site.result())
