"""RELU, RELU1, RELU6, TANH, LOGISTIC, ELU, PRELU, HARD_SWISH, ERF, GELU, MISH, SOFTPLUS."""

import math

from nnapi.codes import OperationCode as Op
from nnapi.lowering.decomposition_builder import Decomposition, decomposition
from nnapi.model.builder import Tensor
from nnapi.operation_codes import Code
from nnapi.operation_codes import CompositeCode as Composite
from nnapi.ops.smooth_activations import CUBIC, ERROR_FUNCTION, SCALE

SATURATED = 20
"""The argument from which tanh(softplus(x)) is 1 in float32."""
BOUNDS: dict[Code, tuple[int, int | None]] = {Op.RELU: (0, None), Op.RELU1: (-1, 1), Op.RELU6: (0, 6)}


def clamp(b: Decomposition, x: Tensor, low: float | None, high: float | None) -> Tensor:
    if low is not None:
        x = b.maximum(x, b.number(x, low))
    return x if high is None else b.minimum(x, b.number(x, high))


@decomposition(*BOUNDS)
def rectifier(b: Decomposition, input: Tensor) -> Tensor:
    return clamp(b, input, *BOUNDS[b.call.operation.code])


@decomposition(Op.LOGISTIC)
def logistic(b: Decomposition, input: Tensor) -> Tensor:
    return b.div(b.number(input, 1), b.add(b.exp(b.neg(input)), b.number(input, 1), 0), 0)


@decomposition(Op.TANH)
def tanh(b: Decomposition, input: Tensor) -> Tensor:
    twice = b.mul(b.logistic(b.mul(input, b.number(input, 2), 0)), b.number(input, 2), 0)
    return b.sub(twice, b.number(input, 1), 0)


@decomposition(Op.ELU)
def elu(b: Decomposition, input: Tensor, alpha: float) -> Tensor:
    curve = b.mul(b.sub(b.exp(input), b.number(input, 1), 0), b.number(input, alpha), 0)
    return b.add(b.relu(input), b.minimum(curve, b.number(input, 0)), 0)


@decomposition(Op.PRELU)
def prelu(b: Decomposition, input: Tensor, alpha: Tensor) -> Tensor:
    below = b.mul(b.minimum(input, b.number(input, 0)), alpha, 0)
    return b.add(b.relu(input), below, 0)


@decomposition(Op.HARD_SWISH)
def hard_swish(b: Decomposition, input: Tensor) -> Tensor:
    share = b.div(b.relu6(b.add(input, b.number(input, 3), 0)), b.number(input, 6), 0)
    return b.mul(input, share, 0)


@decomposition(Composite.ERF)
def error_function(b: Decomposition, input: Tensor, scale: float = 1.0) -> Tensor:
    """Return erf(``scale`` x)."""
    u = b.relu1(b.mul(input, b.number(input, scale / SCALE), 0))
    square = b.mul(u, u, 0)
    first, *rest, last = ERROR_FUNCTION
    total = b.mul(square, b.number(input, last), 0)
    for factor in reversed(rest):
        total = b.mul(b.add(total, b.number(input, factor), 0), square, 0)
    return b.tanh(b.mul(u, b.add(total, b.number(input, first), 0), 0))


@decomposition(Composite.GELU)
def gelu(b: Decomposition, input: Tensor, approximate: bool) -> Tensor:
    if approximate:
        cube = b.mul(b.mul(b.mul(input, input, 0), input, 0), b.number(input, CUBIC), 0)
        spread = b.tanh(b.mul(b.add(input, cube, 0), b.number(input, math.sqrt(2 / math.pi)), 0))
    else:
        spread = error_function(b, input, math.sqrt(0.5))
    return b.mul(b.mul(input, b.number(input, 0.5), 0), b.add(spread, b.number(input, 1), 0), 0)


@decomposition(Composite.SOFTPLUS)
def softplus(b: Decomposition, input: Tensor) -> Tensor:
    small = b.add(b.exp(b.neg(b.abs(input))), b.number(input, 1), 0)
    return b.add(b.relu(input), b.log(small), 0)


@decomposition(Composite.MISH)
def mish(b: Decomposition, input: Tensor) -> Tensor:
    """Compute tanh(log(1 + p)) for p = exp(x) as n / (n + 2) with n = p (p + 2), which needs no second function."""
    power = b.exp(b.minimum(input, b.number(input, SATURATED)))
    square = b.mul(power, b.add(power, b.number(input, 2), 0), 0)
    return b.mul(input, b.div(square, b.add(square, b.number(input, 2), 0), 0), 0)
