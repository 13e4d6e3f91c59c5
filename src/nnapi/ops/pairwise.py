"""LOGICAL_AND, LOGICAL_OR, MAXIMUM, MINIMUM, POW: element-wise functions of two tensors, with broadcasting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nnapi.codes import OperationCode
from nnapi.errors import BadDataError
from nnapi.model.facts import Facts, Kind, Trait
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import Levels, Ranks, Slot, Tensor
from nnapi.ops.shapes import broadcast
from nnapi.ops.types import BOOL8, floats, numbers


def pairwise(
    code: OperationCode,
    facts: Facts,
    function: Callable[[Array, Array], Array],
    types: Levels,
    *more: Slot,
    names: tuple[str, str] = ("x", "y"),
    rank: Ranks = None,
    out: Levels | None = None,
    **options: Any,
) -> Operation:
    """Declare an operation on the elements of two tensors of one type; the result has that type too, or one of ``out``.

    Quantized operands may differ in scale and zero point from each other and from the result.
    """
    first, second = names
    operation = Operation(
        code,
        facts=facts,
        inputs=(Tensor(first, types, rank=rank), Tensor(second, like=first, rank=rank), *more),
        outputs=(Tensor("out", out) if out else Tensor("out", like=first),),
        **options,
    )

    @operation.shape
    def infer_shape(**operands: OperandType) -> Shape:
        return broadcast(names, operands[first].shape, operands[second].shape)

    @operation.kernel
    def each_pair(**operands: Array) -> Array:
        return function(operands[first], operands[second])

    return operation


EXTREME = Facts(Kind.ELEMENTWISE, Trait.FOLDS | Trait.REQUANTIZES)
LOGICAL = Facts(Kind.ELEMENTWISE, Trait.FOLDS | Trait.CHOOSES)


def _extreme(code: OperationCode, function: Callable[[Array, Array], Array]) -> Operation:
    return pairwise(code, EXTREME, function, numbers(3, int32=3), names=("a", "b"), failure=BadDataError)


LOGICAL_AND = pairwise(OperationCode.LOGICAL_AND, LOGICAL, np.logical_and, {BOOL8: 3})
LOGICAL_OR = pairwise(OperationCode.LOGICAL_OR, LOGICAL, np.logical_or, {BOOL8: 3})
MAXIMUM = _extreme(OperationCode.MAXIMUM, np.maximum)
MINIMUM = _extreme(OperationCode.MINIMUM, np.minimum)
POW = pairwise(
    OperationCode.POW,
    Facts(Kind.TRANSCENDENTAL, Trait.FOLDS | Trait.PAIRS),
    np.power,
    floats(3),
    names=("base", "exponent"),
    failure=BadDataError,
)
