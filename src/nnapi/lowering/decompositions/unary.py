"""ABS, NEG, RSQRT, LOGICAL_NOT."""

from __future__ import annotations

from nnapi.codes import OperationCode as Op
from nnapi.lowering.decomposition import Decomposition, decomposition
from nnapi.lowering.decompositions.binary import as_numbers
from nnapi.model.builder import Tensor


@decomposition(Op.NEG)
def neg(b: Decomposition, input: Tensor) -> Tensor:
    return b.mul(input, b.number(input, -1), 0)


@decomposition(Op.ABS)
def absolute(b: Decomposition, input: Tensor) -> Tensor:
    return b.maximum(input, b.neg(input))


@decomposition(Op.RSQRT)
def rsqrt(b: Decomposition, input: Tensor) -> Tensor:
    return b.div(b.number(input, 1), b.sqrt(input), 0)


@decomposition(Op.LOGICAL_NOT)
def logical_not(b: Decomposition, x: Tensor) -> Tensor:
    numbers = as_numbers(b, x)
    return b.equal(numbers, b.number(numbers, 0))
