"""Decompositions of MINIMUM by MAXIMUM, of comparisons by GREATER and EQUAL, and of logic by arithmetic on 0 and 1."""

from __future__ import annotations

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.lowering.decomposition import Decomposition, decomposition
from nnapi.model.builder import Tensor


def as_numbers(b: Decomposition, x: Tensor) -> Tensor:
    """Return a boolean as float32 0 or 1."""
    one, zero = (b.constant(np.full(x.shape, value, np.float32)) for value in (1, 0))
    return b.select(x, one, zero)


def is_one(b: Decomposition, x: Tensor) -> Tensor:
    return b.equal(x, b.number(x, 1))


@decomposition(Op.MINIMUM)
def minimum(builder: Decomposition, a: Tensor, b: Tensor) -> Tensor:
    return builder.neg(builder.maximum(builder.neg(a), builder.neg(b)))


@decomposition(Op.LESS)
def less(b: Decomposition, x: Tensor, y: Tensor) -> Tensor:
    return b.greater(y, x)


@decomposition(Op.GREATER_EQUAL)
def greater_equal(b: Decomposition, x: Tensor, y: Tensor) -> Tensor:
    return b.logical_or(b.greater(x, y), b.equal(x, y))


@decomposition(Op.LESS_EQUAL)
def less_equal(b: Decomposition, x: Tensor, y: Tensor) -> Tensor:
    return b.greater_equal(y, x)


@decomposition(Op.NOT_EQUAL)
def not_equal(b: Decomposition, x: Tensor, y: Tensor) -> Tensor:
    return b.logical_not(b.equal(x, y))


@decomposition(Op.LOGICAL_AND)
def logical_and(b: Decomposition, x: Tensor, y: Tensor) -> Tensor:
    return is_one(b, b.minimum(as_numbers(b, x), as_numbers(b, y)))


@decomposition(Op.LOGICAL_OR)
def logical_or(b: Decomposition, x: Tensor, y: Tensor) -> Tensor:
    return is_one(b, b.maximum(as_numbers(b, x), as_numbers(b, y)))
