"""Results whose size depends on the data.

NONZERO: the positions of the elements that are not zero, one row for each axis, in the order of the elements.
UNIQUE: the different slices along an axis; the first position of each, the one equal to each slice, and their counts.
"""

import numpy as np

from nnapi.codes import OperandCode
from nnapi.model.facts import Facts, Trait
from nnapi.model.operand import Array, OperandType
from nnapi.model.operation import Operation
from nnapi.model.parameter import HIGH, Scalar, Tensor, upto
from nnapi.model.proposal import propose_along_axis
from nnapi.operation_codes import CompositeCode
from nnapi.ops.shapes import axis_of
from nnapi.ops.signature_types import BOOL8, INT32, numbers

NONZERO = Operation(
    CompositeCode.NONZERO,
    facts=Facts(traits=Trait.FOLDS | Trait.ORDERS),
    inputs=(Tensor("input", numbers(3, int32=3) | {BOOL8: 3}, rank=upto(4), high=HIGH),),
    outputs=(Tensor("indices", INT32),),
)

UNIQUE = Operation(
    CompositeCode.UNIQUE,
    facts=Facts(traits=Trait.FOLDS | Trait.ORDERS),
    inputs=(
        Tensor("input", numbers(3, int32=3) | {BOOL8: 3}, rank=upto(4), high=HIGH),
        Scalar("axis", OperandCode.INT32, since=3),
        Scalar("sorted", OperandCode.BOOL, since=3),
    ),
    outputs=(
        Tensor("out", like="input", quant="input"),
        Tensor("first", INT32),
        Tensor("inverse", INT32),
        Tensor("counts", INT32),
    ),
)


@NONZERO.shape
def infer_positions(input: OperandType) -> tuple[int | None, ...]:
    return input.rank, None


@NONZERO.kernel
def find_nonzero(input: Array) -> Array:
    return np.stack(np.nonzero(input)).astype(np.int32)


@UNIQUE.shape
def infer_unique(input: OperandType, axis: int, sorted: bool) -> list[tuple[int | None, ...]]:
    axis = axis_of(axis, input.rank)
    size = input.shape[axis]
    return [(*input.shape[:axis], None, *input.shape[axis + 1 :]), (None,), (size,), (None,)]


@UNIQUE.kernel(kind="raw")
def find_unique(input: Array, axis: int, sorted: bool) -> tuple[Array, ...]:
    """Without ``sorted``, slices are in the order of their first positions."""
    slices, first, inverse, counts = np.unique(
        input, return_index=True, return_inverse=True, return_counts=True, axis=axis
    )
    if not sorted:
        order = np.argsort(first)
        slices, first, counts = slices.take(order, axis), first[order], counts[order]
        inverse = np.argsort(order)[inverse]
    return slices, *(each.reshape(-1).astype(np.int32) for each in (first, inverse, counts))


UNIQUE.proposal(propose_along_axis)
