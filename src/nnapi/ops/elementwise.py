"""Functions of each element of a tensor.

LOGISTIC: 1 / (1 + exp(-x)) of each element.
RELU: max(x, 0) of each element.
RELU1: each element clamped to -1 to 1.
RELU6: each element clamped to 0 to 6.
TANH: the hyperbolic tangent of each element.
ELU: x above 0, alpha · (exp(x) - 1) below.
HARD_SWISH: x · min(max(x + 3, 0), 6) / 6.
FLOOR: each element rounded down.
ABS: the absolute value of each element.
EXP: e to the power of each element.
LOG: the natural logarithm of each element.
NEG: the negative of each element.
RSQRT: 1 / √x of each element.
SIN: the sine of each element.
SQRT: the square root of each element.
LOGICAL_NOT: not x, element by element.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from nnapi.codes import OperationCode
from nnapi.model.facts import Facts, Kind, Trait
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import HIGH, Levels, Quantization, Ranks, Scalar, Slot, Tensor, upto
from nnapi.model.proposal import propose_equal_shapes
from nnapi.operation_codes import Code
from nnapi.ops.shapes import same_shape
from nnapi.ops.signature_types import (
    BOOL8,
    FLOAT_SCALAR,
    INT32,
    QUANT8,
    QUANT8_SIGNED,
    SIGNED_UNIT,
    UNIT_INTERVAL,
    floats,
    reals,
)


def declare_function(
    code: Code,
    facts: Facts,
    function: Callable[..., Array],
    types: Levels,
    *scalars: Slot,
    rank: Ranks = None,
    high: tuple[int, ...] = (),
    quant: Quantization = None,
    zero_sized: bool = False,
) -> Operation:
    """Declare an operation on each element; ``function`` takes ``input`` and the ``scalars``."""
    operation = Operation(
        code,
        facts=facts,
        inputs=(Tensor("input", types, rank=rank, high=high), *scalars),
        outputs=(Tensor("out", like="input", quant=quant),),
        zero_sized=zero_sized,
    )
    operation.shape(same_shape)
    operation.proposal(propose_equal_shapes)

    @operation.kernel(kind="pointwise")
    def each(input: Array, **scalars: Any) -> Array:
        return function(input, **scalars)

    return operation


CHOOSING = Facts(Kind.ELEMENTWISE, Trait.FOLDS | Trait.CHOOSES)
STEPPING = Facts(Kind.ELEMENTWISE, Trait.FOLDS | Trait.CHOOSES | Trait.STEPS)
CLAMPING = Facts(Kind.ELEMENTWISE, Trait.FOLDS | Trait.REQUANTIZES)
CURVED = Facts(Kind.TRANSCENDENTAL, Trait.PAIRS)
CURVED_AND_FOLDED = Facts(Kind.TRANSCENDENTAL, Trait.FOLDS | Trait.PAIRS)


def _activation(
    code: OperationCode, facts: Facts, function: Callable[[Array], Array], types: Levels, quant: Quantization
) -> Operation:
    return declare_function(code, facts, function, types, rank=upto(4), high=HIGH, quant=quant, zero_sized=True)


def _clamp(code: OperationCode, low: float, high: float, facts: Facts = CLAMPING) -> Operation:
    return _activation(code, facts, lambda input: np.clip(input, low, high), reals(), "input")


def _logistic(input: Array) -> Array:
    return 1 / (1 + np.exp(-input))


def _elu(input: Array, alpha: float) -> Array:
    return np.maximum(input, 0) + np.minimum(np.float32(alpha) * np.expm1(input), 0)


def _hard_swish(input: Array) -> Array:
    return input * (np.clip(input + 3, 0, 6) / 6)  # in this order no finite value becomes infinite


RELU = _clamp(OperationCode.RELU, 0, np.inf)
RELU1 = _clamp(OperationCode.RELU1, -1, 1, CLAMPING._replace(rounded_first=0.5))
RELU6 = _clamp(OperationCode.RELU6, 0, 6, CLAMPING._replace(rounded_first=0.5))
TANH = _activation(OperationCode.TANH, CURVED, np.tanh, reals(quant8=3), SIGNED_UNIT)
LOGISTIC = _activation(OperationCode.LOGISTIC, CURVED, _logistic, reals(), UNIT_INTERVAL)
ELU = declare_function(OperationCode.ELU, CURVED, _elu, floats(4), Scalar("alpha", like="input", via=FLOAT_SCALAR))
HARD_SWISH = declare_function(OperationCode.HARD_SWISH, CURVED, _hard_swish, reals(4), zero_sized=True)

ABS = declare_function(OperationCode.ABS, CHOOSING, np.abs, floats(3) | {INT32: 4})
EXP = declare_function(OperationCode.EXP, CURVED_AND_FOLDED, np.exp, floats(3))
FLOOR = declare_function(OperationCode.FLOOR, STEPPING, np.floor, floats(), rank=upto(4), high=HIGH)
LOG = declare_function(OperationCode.LOG, CURVED_AND_FOLDED, np.log, floats(3))
NEG = declare_function(OperationCode.NEG, CHOOSING, np.negative, floats(3) | {INT32: 3})
SIN = declare_function(OperationCode.SIN, CURVED, np.sin, floats(3))
SQRT = declare_function(OperationCode.SQRT, CURVED_AND_FOLDED, np.sqrt, floats(3))
RSQRT = declare_function(
    OperationCode.RSQRT, CURVED_AND_FOLDED, lambda input: 1 / np.sqrt(input), floats(3) | {QUANT8: 7, QUANT8_SIGNED: 7}
)


@RSQRT.kernel(kind="pointwise", types=(QUANT8, QUANT8_SIGNED))
def rsqrt_saturated(input: Array) -> Array:
    return 1 / np.sqrt(np.maximum(input, 0))  # no NaN: as quantized values have none, x < 0 gives the highest, like 0


LOGICAL_NOT = Operation(
    OperationCode.LOGICAL_NOT, facts=CHOOSING, inputs=(Tensor("x", BOOL8, since=3),), outputs=(Tensor("out", like="x"),)
)


@LOGICAL_NOT.shape
def infer_logical_not_shape(x: OperandType) -> Shape:
    return x.shape


@LOGICAL_NOT.kernel
def logical_not(x: Array) -> Array:
    return np.logical_not(x)


LOGICAL_NOT.proposal(propose_equal_shapes)
