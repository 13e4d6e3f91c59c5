"""The index of the first largest, or smallest, element along an axis.

ARGMAX: the index of the largest element along an axis.
ARGMIN: the index of the smallest element along an axis.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import BadDataError
from nnapi.model.facts import Facts, Kind, Trait
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import Scalar, Tensor
from nnapi.ops.shapes import axis_of
from nnapi.ops.types import INT32, numbers


def _position(code: OperationCode, function: Callable[..., Any]) -> Operation:
    operation = Operation(
        code,
        facts=Facts(Kind.REDUCTION, Trait.CHOOSES | Trait.ORDERS),
        inputs=(Tensor("input", numbers(3, int32=3)), Scalar("axis", OperandCode.INT32, since=3)),
        outputs=(Tensor("out", INT32, since=3),),
        failure=BadDataError,
    )

    @operation.shape
    def infer_shape(input: OperandType, axis: int) -> Shape:
        axis = axis_of(axis, input.rank)
        return (*input.shape[:axis], *input.shape[axis + 1 :]) or (1,)

    @operation.kernel(kind="raw")
    def position(input: Array, axis: int) -> Array:
        out = np.asarray(function(input, axis), np.int32)
        return out.reshape(out.shape or (1,))

    return operation


ARGMAX = _position(OperationCode.ARGMAX, np.argmax)
ARGMIN = _position(OperationCode.ARGMIN, np.argmin)
