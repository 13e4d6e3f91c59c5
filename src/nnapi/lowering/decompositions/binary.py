"""Decompositions of MINIMUM by MAXIMUM, of comparisons by GREATER and EQUAL, and of logic by arithmetic on 0 and 1."""

from __future__ import annotations

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.lowering.sketch import Sketch, decomposition
from nnapi.model.builder import Tensor


def as_numbers(s: Sketch, x: Tensor) -> Tensor:
    """Return a boolean as float32 0 or 1."""
    one, zero = (s.constant(np.full(x.shape, value, np.float32)) for value in (1, 0))
    return s.select(x, one, zero)


def is_one(s: Sketch, x: Tensor) -> Tensor:
    return s.equal(x, s.number(x, 1))


@decomposition(Op.MINIMUM)
def minimum(s: Sketch, a: Tensor, b: Tensor) -> Tensor:
    return s.neg(s.maximum(s.neg(a), s.neg(b)))


@decomposition(Op.LESS)
def less(s: Sketch, x: Tensor, y: Tensor) -> Tensor:
    return s.greater(y, x)


@decomposition(Op.GREATER_EQUAL)
def greater_equal(s: Sketch, x: Tensor, y: Tensor) -> Tensor:
    return s.logical_or(s.greater(x, y), s.equal(x, y))


@decomposition(Op.LESS_EQUAL)
def less_equal(s: Sketch, x: Tensor, y: Tensor) -> Tensor:
    return s.greater_equal(y, x)


@decomposition(Op.NOT_EQUAL)
def not_equal(s: Sketch, x: Tensor, y: Tensor) -> Tensor:
    return s.logical_not(s.equal(x, y))


@decomposition(Op.LOGICAL_AND)
def logical_and(s: Sketch, x: Tensor, y: Tensor) -> Tensor:
    return is_one(s, s.minimum(as_numbers(s, x), as_numbers(s, y)))


@decomposition(Op.LOGICAL_OR)
def logical_or(s: Sketch, x: Tensor, y: Tensor) -> Tensor:
    return is_one(s, s.maximum(as_numbers(s, x), as_numbers(s, y)))
