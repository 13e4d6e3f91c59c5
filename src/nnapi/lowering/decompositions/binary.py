"""Decompositions of MINIMUM by MAXIMUM, of comparisons by GREATER and EQUAL, and of logic by arithmetic on 0 and 1."""

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.lowering.decomposition_builder import RULES, Decomposition
from nnapi.model.builder import Tensor


def as_numbers(b: Decomposition, x: Tensor) -> Tensor:
    """Return a boolean as float32 0 or 1."""
    one, zero = (b.constant(np.full(x.shape, value, np.float32)) for value in (1, 0))
    return b.select(x, one, zero)


def is_one(b: Decomposition, x: Tensor) -> Tensor:
    return b.equal(x, b.number(x, 1))


RULES.own.update(
    {
        Op.MINIMUM: lambda builder, a, b: builder.neg(builder.maximum(builder.neg(a), builder.neg(b))),
        Op.LESS: lambda b, x, y: b.greater(y, x),
        Op.GREATER_EQUAL: lambda b, x, y: b.logical_or(b.greater(x, y), b.equal(x, y)),
        Op.LESS_EQUAL: lambda b, x, y: b.greater_equal(y, x),
        Op.NOT_EQUAL: lambda b, x, y: b.logical_not(b.equal(x, y)),
        Op.LOGICAL_AND: lambda b, x, y: is_one(b, b.minimum(as_numbers(b, x), as_numbers(b, y))),
        Op.LOGICAL_OR: lambda b, x, y: is_one(b, b.maximum(as_numbers(b, x), as_numbers(b, y))),
    }
)
