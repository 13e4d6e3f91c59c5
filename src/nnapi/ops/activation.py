"""RELU, RELU1, RELU6, TANH, LOGISTIC, ELU, HARD_SWISH: element-wise functions."""

from __future__ import annotations

import numpy as np

from nnapi.codes import OperationCode
from nnapi.model.facts import Facts, Kind, Trait
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import Levels, Quantization, Ranks, Scalar, Slot, Tensor, upto
from nnapi.ops.types import FLOAT_SCALAR, SIGNED_UNIT, UNIT_INTERVAL, floats, reals


def _function(
    code: OperationCode,
    facts: Facts,
    types: Levels,
    quant: Quantization,
    *scalars: Slot,
    rank: Ranks = None,
    zero_sized: bool = True,
) -> Operation:
    operation = Operation(
        code,
        facts=facts,
        inputs=(Tensor("input", types, rank=rank), *scalars),
        outputs=(Tensor("out", like="input", quant=quant),),
        zero_sized=zero_sized,
    )

    @operation.shape
    def infer_shape(input: OperandType, alpha: float = 0) -> Shape:
        return input.shape

    return operation


CUT = Facts(Kind.ELEMENTWISE, Trait.FOLDS | Trait.REQUANTIZES)
CURVED = Facts(Kind.TRANSCENDENTAL, Trait.PAIRS)

RELU = _function(OperationCode.RELU, CUT, reals(), "input", rank=upto(4))
RELU1 = _function(OperationCode.RELU1, CUT, reals(), "input", rank=upto(4))
RELU6 = _function(OperationCode.RELU6, CUT, reals(), "input", rank=upto(4))
TANH = _function(OperationCode.TANH, CURVED, reals(quant8=3), SIGNED_UNIT, rank=upto(4))
LOGISTIC = _function(OperationCode.LOGISTIC, CURVED, reals(), UNIT_INTERVAL, rank=upto(4))
ALPHA = Scalar("alpha", like="input", via=FLOAT_SCALAR)
ELU = _function(OperationCode.ELU, CURVED, floats(4), None, ALPHA, zero_sized=False)
HARD_SWISH = _function(OperationCode.HARD_SWISH, CURVED, reals(4), None)


@RELU.kernel(kind="pointwise")
def relu(input: Array) -> Array:
    return np.maximum(input, 0)


@RELU1.kernel(kind="pointwise")
def relu1(input: Array) -> Array:
    return np.clip(input, -1, 1)


@RELU6.kernel(kind="pointwise")
def relu6(input: Array) -> Array:
    return np.clip(input, 0, 6)


@TANH.kernel(kind="pointwise")
def tanh(input: Array) -> Array:
    return np.tanh(input)


@LOGISTIC.kernel(kind="pointwise")
def logistic(input: Array) -> Array:
    return 1 / (1 + np.exp(-input))


@ELU.kernel(kind="pointwise")
def elu(input: Array, alpha: float) -> Array:
    return np.maximum(input, 0) + np.minimum(np.float32(alpha) * np.expm1(input), 0)


@HARD_SWISH.kernel(kind="pointwise")
def hard_swish(input: Array) -> Array:
    return input * (np.clip(input + 3, 0, 6) / 6)  # in this order nothing finite becomes infinite
