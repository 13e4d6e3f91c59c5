"""RELU, RELU1, RELU6, TANH, LOGISTIC, ELU, PRELU, HARD_SWISH."""

from __future__ import annotations

from nnapi.codes import OperationCode as Op
from nnapi.lowering.sketch import Sketch, decomposition
from nnapi.model.builder import Tensor


def clamp(s: Sketch, x: Tensor, low: float | None, high: float | None) -> Tensor:
    if low is not None:
        x = s.maximum(x, s.number(x, low))
    return x if high is None else s.minimum(x, s.number(x, high))


@decomposition(Op.RELU)
def relu(s: Sketch, input: Tensor) -> Tensor:
    return clamp(s, input, 0, None)


@decomposition(Op.RELU1)
def relu1(s: Sketch, input: Tensor) -> Tensor:
    return clamp(s, input, -1, 1)


@decomposition(Op.RELU6)
def relu6(s: Sketch, input: Tensor) -> Tensor:
    return clamp(s, input, 0, 6)


@decomposition(Op.LOGISTIC)
def logistic(s: Sketch, input: Tensor) -> Tensor:
    return s.div(s.number(input, 1), s.add(s.exp(s.neg(input)), s.number(input, 1), 0), 0)


@decomposition(Op.TANH)
def tanh(s: Sketch, input: Tensor) -> Tensor:
    twice = s.mul(s.logistic(s.mul(input, s.number(input, 2), 0)), s.number(input, 2), 0)
    return s.sub(twice, s.number(input, 1), 0)


@decomposition(Op.ELU)
def elu(s: Sketch, input: Tensor, alpha: float) -> Tensor:
    curve = s.mul(s.sub(s.exp(input), s.number(input, 1), 0), s.number(input, alpha), 0)
    return s.add(s.relu(input), s.minimum(curve, s.number(input, 0)), 0)


@decomposition(Op.PRELU)
def prelu(s: Sketch, input: Tensor, alpha: Tensor) -> Tensor:
    below = s.mul(s.minimum(input, s.number(input, 0)), alpha, 0)
    return s.add(s.relu(input), below, 0)


@decomposition(Op.HARD_SWISH)
def hard_swish(s: Sketch, input: Tensor) -> Tensor:
    share = s.div(s.relu6(s.add(input, s.number(input, 3), 0)), s.number(input, 6), 0)
    return s.mul(input, share, 0)
