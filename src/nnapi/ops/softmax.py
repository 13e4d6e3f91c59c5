"""Softmax and its logarithm.

SOFTMAX: exp(beta · x) divided by its sum along an axis.
LOG_SOFTMAX: the logarithm of SOFTMAX along an axis.
"""

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.model.facts import Facts, Kind
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import HIGH, Scalar, Tensor, positive, upto
from nnapi.model.proposal import propose_along_axis
from nnapi.ops.shapes import axis_of
from nnapi.ops.signature_types import FLOAT_SCALAR, UNIT_INTERVAL, floats, reals

SOFTMAX = Operation(
    OperationCode.SOFTMAX,
    facts=Facts(Kind.TRANSCENDENTAL),
    inputs=(
        Tensor("input", reals(), rank={1: (2, 4), 3: upto(4)}, high=HIGH),
        Scalar("beta", like="input", via=FLOAT_SCALAR, check=positive),
        Scalar("axis", OperandCode.INT32, since=3, default=-1),
    ),
    outputs=(Tensor("out", like="input", quant=UNIT_INTERVAL),),
    zero_sized=True,
)

LOG_SOFTMAX = Operation(
    OperationCode.LOG_SOFTMAX,
    facts=Facts(Kind.TRANSCENDENTAL),
    inputs=(
        Tensor("input", floats(3)),
        Scalar("beta", like="input", via=FLOAT_SCALAR, since=3),
        Scalar("axis", OperandCode.INT32, since=3),
    ),
    outputs=(Tensor("out", like="input"),),
)


@LOG_SOFTMAX.shape
@SOFTMAX.shape
def infer_shape(input: OperandType, beta: float, axis: int) -> Shape:
    axis_of(axis, input.rank)
    return input.shape


@SOFTMAX.kernel
def softmax(input: Array, beta: float, axis: int) -> Array:
    e = np.exp((input - input.max(axis, keepdims=True, initial=-np.inf)) * np.float32(beta))
    return e / e.sum(axis, keepdims=True)


@LOG_SOFTMAX.kernel
def log_softmax(input: Array, beta: float, axis: int) -> Array:
    x = (input - input.max(axis, keepdims=True)) * np.float32(beta)
    return x - np.log(np.exp(x).sum(axis, keepdims=True))


for _operation in (SOFTMAX, LOG_SOFTMAX):
    _operation.proposal(propose_along_axis)
