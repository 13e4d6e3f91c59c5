"""RELU, RELU1, RELU6, TANH, LOGISTIC, ELU, PRELU, HARD_SWISH."""

from nnapi.codes import OperationCode as Op
from nnapi.lowering.decomposition_builder import Decomposition, decomposition
from nnapi.model.builder import Tensor

BOUNDS = {Op.RELU: (0, None), Op.RELU1: (-1, 1), Op.RELU6: (0, 6)}


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
