"""ABS, EXP, FLOOR, LOG, NEG, RSQRT, SIN, SQRT, LOGICAL_NOT: one element in, one element out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nnapi.codes import OperationCode
from nnapi.model.facts import Facts, Kind, Trait
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import Levels, Tensor, upto
from nnapi.ops.shapes import same_shape
from nnapi.ops.types import BOOL8, INT32, QUANT8, QUANT8_SIGNED, floats


def _unary(
    code: OperationCode, facts: Facts, function: Callable[[Array], Array], types: Levels, **more: Any
) -> Operation:
    operation = Operation(
        code, facts=facts, inputs=(Tensor("input", types, **more),), outputs=(Tensor("out", like="input"),)
    )
    operation.shape(same_shape)

    @operation.kernel(kind="pointwise")
    def each(input: Array) -> Array:
        return function(input)

    return operation


CHOOSING = Facts(Kind.ELEMENTWISE, Trait.FOLDS | Trait.CHOOSES)
STEPPING = Facts(Kind.ELEMENTWISE, Trait.FOLDS | Trait.CHOOSES | Trait.STEPS)
CURVED = Facts(Kind.TRANSCENDENTAL, Trait.FOLDS | Trait.PAIRS)

ABS = _unary(OperationCode.ABS, CHOOSING, np.abs, floats(3) | {INT32: 4})
EXP = _unary(OperationCode.EXP, CURVED, np.exp, floats(3))
FLOOR = _unary(OperationCode.FLOOR, STEPPING, np.floor, floats(), rank=upto(4))
LOG = _unary(OperationCode.LOG, CURVED, np.log, floats(3))
NEG = _unary(OperationCode.NEG, CHOOSING, np.negative, floats(3) | {INT32: 3})
RSQRT = _unary(OperationCode.RSQRT, CURVED, lambda x: 1 / np.sqrt(x), floats(3) | {QUANT8: 7, QUANT8_SIGNED: 7})
SIN = _unary(OperationCode.SIN, Facts(Kind.TRANSCENDENTAL, Trait.PAIRS), np.sin, floats(3))
SQRT = _unary(OperationCode.SQRT, CURVED, np.sqrt, floats(3))

LOGICAL_NOT = Operation(
    OperationCode.LOGICAL_NOT, facts=CHOOSING, inputs=(Tensor("x", BOOL8, since=3),), outputs=(Tensor("out", like="x"),)
)


@RSQRT.kernel(kind="pointwise", types=(QUANT8, QUANT8_SIGNED))
def rsqrt_saturated(input: Array) -> Array:
    return 1 / np.sqrt(np.maximum(input, 0))  # quantized values have no NaN: values below 0 give the highest, as 0 does


@LOGICAL_NOT.shape
def infer_logical_not_shape(x: OperandType) -> Shape:
    return x.shape


@LOGICAL_NOT.kernel
def logical_not(x: Array) -> Array:
    return np.logical_not(x)
