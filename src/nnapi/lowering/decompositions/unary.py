"""ABS, NEG, RSQRT, LOGICAL_NOT, ROUND, CEIL, SIGN."""

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.lowering.decomposition_builder import RULES, Decomposition, decomposition
from nnapi.lowering.decompositions.binary import as_numbers
from nnapi.model.builder import Tensor
from nnapi.operation_codes import CompositeCode as Composite

RULES.own.update(
    {
        Op.NEG: lambda b, input: b.mul(input, b.number(input, -1), 0),
        Op.ABS: lambda b, input: b.maximum(input, b.neg(input)),
        Op.RSQRT: lambda b, input: b.div(b.number(input, 1), b.sqrt(input), 0),
        Composite.CEIL: lambda b, input: b.neg(b.floor(b.neg(input))),
        Op.LOGICAL_NOT: lambda b, x: b.equal(as_numbers(b, x), b.zeros(1)),
    }
)


@decomposition(Composite.ROUND)
def round_half_to_even(b: Decomposition, input: Tensor) -> Tensor:
    low = b.floor(input)
    high = b.add(low, b.number(input, 1), 0)
    rest = b.sub(input, low, 0)
    even = b.mul(b.floor(b.mul(high, b.number(input, 0.5), 0)), b.number(input, 2), 0)
    nearest = b.select(b.greater(rest, b.number(input, 0.5)), high, low)
    return b.select(b.equal(rest, b.number(input, 0.5)), even, nearest)


@decomposition(Composite.SIGN)
def sign(b: Decomposition, input: Tensor) -> Tensor:
    zero = b.number(input, 0)
    one, minus_one = (b.constant(np.full(input.shape, value, input.type.dtype), input.type) for value in (1, -1))
    not_above = b.select(b.less(input, zero), minus_one, b.mul(input, zero, 0))
    return b.select(b.greater(input, zero), one, not_above)
