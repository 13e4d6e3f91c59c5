"""ABS, NEG, RSQRT, LOGICAL_NOT, ROUND, CEIL, SIGN."""

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.lowering.decomposition_builder import RULES, Decomposition, decomposition
from nnapi.lowering.decompositions.binary import as_numbers
from nnapi.model.builder import Tensor
from nnapi.operation_codes import CompositeCode as Composite

RULES.own.update(
    {
        Op.NEG: lambda b, input: input * -1,
        Op.ABS: lambda b, input: b.maximum(input, -input),
        Op.RSQRT: lambda b, input: 1 / b.sqrt(input),
        Composite.CEIL: lambda b, input: -b.floor(-input),
        Op.LOGICAL_NOT: lambda b, x: b.equal(as_numbers(b, x), b.zeros(1)),
    }
)


@decomposition(Composite.ROUND)
def round_half_to_even(b: Decomposition, input: Tensor) -> Tensor:
    low = b.floor(input)
    high, rest = low + 1, input - low
    even = b.floor(high * 0.5) * 2
    nearest = b.select(rest > 0.5, high, low)
    return b.select(b.equal(rest, 0.5), even, nearest)


@decomposition(Composite.SIGN)
def sign(b: Decomposition, input: Tensor) -> Tensor:
    zero = b.number(input, 0)
    one, minus_one = (b.constant(np.full(input.shape, value, input.type.dtype), input.type) for value in (1, -1))
    not_above = b.select(input < zero, minus_one, input * zero)
    return b.select(input > zero, one, not_above)
