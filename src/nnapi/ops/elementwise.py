"""Elementwise functions.

FLOOR: each element rounded down.
ABS: the absolute value of each element.
EXP: e to the power of each element.
LOG: the natural logarithm of each element.
NEG: the negative of each element.
RSQRT: 1 / √x of each element.
SIN: the sine of each element.
SQRT: the square root of each element.
"""

from collections.abc import Callable

import numpy as np

from nnapi.codes import OperationCode
from nnapi.model.facts import Facts, Kind, Trait
from nnapi.model.operand import Array
from nnapi.model.operation import Operation
from nnapi.model.parameter import Levels, Ranks, Tensor, upto
from nnapi.ops.shapes import same_shape
from nnapi.ops.types import INT32, QUANT8, QUANT8_SIGNED, floats


def _elementwise(
    code: OperationCode, facts: Facts, function: Callable[[Array], Array], types: Levels, rank: Ranks = None
) -> Operation:
    operation = Operation(
        code, facts=facts, inputs=(Tensor("input", types, rank=rank),), outputs=(Tensor("out", like="input"),)
    )
    operation.shape(same_shape)

    @operation.kernel(kind="pointwise")
    def each(input: Array) -> Array:
        return function(input)

    return operation


CHOOSING = Facts(Kind.ELEMENTWISE, Trait.FOLDS | Trait.CHOOSES)
CURVED = Facts(Kind.TRANSCENDENTAL, Trait.FOLDS | Trait.PAIRS)

ABS = _elementwise(OperationCode.ABS, CHOOSING, np.abs, floats(3) | {INT32: 4})
EXP = _elementwise(OperationCode.EXP, CURVED, np.exp, floats(3))
FLOOR = _elementwise(
    OperationCode.FLOOR,
    Facts(Kind.ELEMENTWISE, Trait.FOLDS | Trait.CHOOSES | Trait.STEPS),
    np.floor,
    floats(),
    rank=upto(4),
)
LOG = _elementwise(OperationCode.LOG, CURVED, np.log, floats(3))
NEG = _elementwise(OperationCode.NEG, CHOOSING, np.negative, floats(3) | {INT32: 3})
RSQRT = _elementwise(OperationCode.RSQRT, CURVED, lambda x: 1 / np.sqrt(x), floats(3) | {QUANT8: 7, QUANT8_SIGNED: 7})
SIN = _elementwise(OperationCode.SIN, Facts(Kind.TRANSCENDENTAL, Trait.PAIRS), np.sin, floats(3))
SQRT = _elementwise(OperationCode.SQRT, CURVED, np.sqrt, floats(3))


@RSQRT.kernel(kind="pointwise", types=(QUANT8, QUANT8_SIGNED))
def rsqrt_saturated(input: Array) -> Array:
    return 1 / np.sqrt(np.maximum(input, 0))  # quantized values have no NaN: values below 0 give the highest, as 0 does
