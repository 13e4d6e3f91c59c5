"""Element-wise functions of two tensors, with broadcasting.

LOGICAL_AND: x and y, element by element, with broadcasting.
LOGICAL_OR: x or y, element by element, with broadcasting.
MAXIMUM: the larger of two tensors, element by element, with broadcasting.
MINIMUM: the smaller of two tensors, element by element, with broadcasting.
POW: base to the power of exponent, element by element, with broadcasting.
"""

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
    function: Callable[..., Array],
    types: Levels,
    *more: Slot,
    names: tuple[str, str] = ("x", "y"),
    rank: Ranks = None,
    out: Levels | None = None,
    **options: Any,
) -> Operation:
    """Declare an operation on the elements of two tensors of one type; the result has that type too, or one of ``out``.

    The arguments of ``function`` have the ``names`` of the tensors. Quantized operands may differ in scale and zero
    point from each other and from the result.
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

    operation.kernel(function)
    return operation


EXTREME = Facts(Kind.ELEMENTWISE, Trait.FOLDS | Trait.REQUANTIZES)
LOGICAL = Facts(Kind.ELEMENTWISE, Trait.FOLDS | Trait.CHOOSES)


def _extreme(code: OperationCode, function: Callable[[Array, Array], Array]) -> Operation:
    types = numbers(3, int32=3)
    return pairwise(code, EXTREME, lambda a, b: function(a, b), types, names=("a", "b"), failure=BadDataError)


LOGICAL_AND = pairwise(OperationCode.LOGICAL_AND, LOGICAL, lambda x, y: np.logical_and(x, y), {BOOL8: 3})
LOGICAL_OR = pairwise(OperationCode.LOGICAL_OR, LOGICAL, lambda x, y: np.logical_or(x, y), {BOOL8: 3})
MAXIMUM = _extreme(OperationCode.MAXIMUM, np.maximum)
MINIMUM = _extreme(OperationCode.MINIMUM, np.minimum)
POW = pairwise(
    OperationCode.POW,
    Facts(Kind.TRANSCENDENTAL, Trait.FOLDS | Trait.PAIRS),
    lambda base, exponent: np.power(base, exponent),
    floats(3),
    names=("base", "exponent"),
    failure=BadDataError,
)
