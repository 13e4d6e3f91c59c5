"""RELU, RELU1, RELU6, TANH, LOGISTIC, ELU, PRELU, HARD_SWISH, ERF, GELU, MISH, SOFTPLUS."""

import math

from nnapi.codes import OperationCode as Op
from nnapi.lowering.decomposition_builder import Decomposition, decomposition
from nnapi.model.builder import Tensor
from nnapi.operation_codes import CompositeCode as Composite
from nnapi.ops.quantized_values import RECTIFIERS
from nnapi.ops.smooth_activations import CUBIC, ERROR_FUNCTION, SCALE

SATURATED = 20
"""The argument from which tanh(softplus(x)) is 1 in float32."""


def clamp(b: Decomposition, x: Tensor, low: float | None, high: float | None) -> Tensor:
    x = x if low is None else b.maximum(x, low)
    return x if high is None else b.minimum(x, high)


@decomposition(*RECTIFIERS)
def rectifier(b: Decomposition, input: Tensor) -> Tensor:
    return clamp(b, input, *RECTIFIERS[b.call.operation.code])


@decomposition(Op.LOGISTIC)
def logistic(b: Decomposition, input: Tensor) -> Tensor:
    return 1 / (b.exp(-input) + 1)


@decomposition(Op.TANH)
def tanh(b: Decomposition, input: Tensor) -> Tensor:
    return b.logistic(input * 2) * 2 - 1


@decomposition(Op.ELU)
def elu(b: Decomposition, input: Tensor, alpha: float) -> Tensor:
    curve = (b.exp(input) - 1) * alpha
    return b.relu(input) + b.minimum(curve, 0)


@decomposition(Op.PRELU)
def prelu(b: Decomposition, input: Tensor, alpha: Tensor) -> Tensor:
    below = b.minimum(input, 0) * alpha
    return b.relu(input) + below


@decomposition(Op.HARD_SWISH)
def hard_swish(b: Decomposition, input: Tensor) -> Tensor:
    return input * (b.relu6(input + 3) / 6)


@decomposition(Composite.ERF)
def error_function(b: Decomposition, input: Tensor, scale: float = 1.0) -> Tensor:
    """Return erf(``scale`` x)."""
    u = b.relu1(input * (scale / SCALE))
    square = u * u
    first, *rest, last = ERROR_FUNCTION
    total = square * last
    for factor in reversed(rest):
        total = (total + factor) * square
    return b.tanh(u * (total + first))


@decomposition(Composite.GELU)
def gelu(b: Decomposition, input: Tensor, approximate: bool) -> Tensor:
    if approximate:
        spread = b.tanh((input + input * input * input * CUBIC) * math.sqrt(2 / math.pi))
    else:
        spread = error_function(b, input, math.sqrt(0.5))
    return input * 0.5 * (spread + 1)


@decomposition(Composite.SOFTPLUS)
def softplus(b: Decomposition, input: Tensor) -> Tensor:
    small = b.exp(-abs(input)) + 1
    return b.relu(input) + b.log(small)


@decomposition(Composite.MISH)
def mish(b: Decomposition, input: Tensor) -> Tensor:
    """Compute tanh(log(1 + p)) for p = exp(x) as n / (n + 2) with n = p (p + 2), which needs no second function."""
    power = b.exp(b.minimum(input, SATURATED))
    square = power * (power + 2)
    return input * (square / (square + 2))
