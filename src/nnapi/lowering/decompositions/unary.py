"""ABS, NEG, RSQRT, LOGICAL_NOT."""

from __future__ import annotations

from nnapi.codes import OperationCode as Op
from nnapi.lowering.decompositions.binary import as_numbers
from nnapi.lowering.sketch import Sketch, decomposition
from nnapi.model.builder import Tensor


@decomposition(Op.NEG)
def neg(s: Sketch, input: Tensor) -> Tensor:
    return s.mul(input, s.number(input, -1), 0)


@decomposition(Op.ABS)
def absolute(s: Sketch, input: Tensor) -> Tensor:
    return s.maximum(input, s.neg(input))


@decomposition(Op.RSQRT)
def rsqrt(s: Sketch, input: Tensor) -> Tensor:
    return s.div(s.number(input, 1), s.sqrt(input), 0)


@decomposition(Op.LOGICAL_NOT)
def logical_not(s: Sketch, x: Tensor) -> Tensor:
    numbers = as_numbers(s, x)
    return s.equal(numbers, s.number(numbers, 0))
