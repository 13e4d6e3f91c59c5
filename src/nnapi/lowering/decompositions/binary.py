"""Decompositions of MINIMUM by MAXIMUM, of comparisons by GREATER and EQUAL, of logic by arithmetic on 0 and 1, and of
MOD by a quotient."""

import numpy as np

from nnapi.codes import OperandCode
from nnapi.codes import OperationCode as Op
from nnapi.lowering.decomposition_builder import RULES, Decomposition, decomposition
from nnapi.model.builder import Tensor
from nnapi.model.operand import Shape
from nnapi.operation_codes import CompositeCode as Composite


def as_numbers(b: Decomposition, x: Tensor) -> Tensor:
    """Return a boolean as float32 0 or 1."""
    one, zero = (b.constant(np.full(x.shape, value, np.float32)) for value in (1, 0))
    return b.select(x, one, zero)


def is_one(b: Decomposition, x: Tensor) -> Tensor:
    return b.equal(x, 1)


RULES.own.update(
    {
        Op.MINIMUM: lambda builder, a, b: -builder.maximum(-a, -b),
        Op.LESS: lambda b, x, y: y > x,
        Op.GREATER_EQUAL: lambda b, x, y: b.logical_or(x > y, b.equal(x, y)),
        Op.LESS_EQUAL: lambda b, x, y: b.greater_equal(y, x),
        Op.NOT_EQUAL: lambda b, x, y: b.logical_not(b.equal(x, y)),
        Op.LOGICAL_AND: lambda b, x, y: is_one(b, b.minimum(as_numbers(b, x), as_numbers(b, y))),
        Op.LOGICAL_OR: lambda b, x, y: is_one(b, b.maximum(as_numbers(b, x), as_numbers(b, y))),
    }
)


@decomposition(Composite.MOD)
def mod(b: Decomposition, x: Tensor, y: Tensor, fmod: bool) -> Tensor:
    """Subtract the divisor, times the rounded quotient; then correct the sign of the remainder."""
    x, y = (broadcast(b, each, b.call.results[0].dimensions) for each in (x, y))
    if x.type.code == OperandCode.TENSOR_INT32:
        rest = x - x / y * y  # the quotient is rounded down
        return b.select(_differ_in_sign(b, rest, x), rest - y, rest) if fmod else rest
    size, divisor = abs(x), abs(y)
    times = b.floor(size / divisor)
    is_whole = b.equal(times, 0)  # 0 times an infinite divisor would be NaN
    left = b.select(is_whole, size, size - times * divisor)
    is_short = b.greater_equal(left, divisor)  # an engine may round the quotient of a multiple down
    left = b.select(is_short, left - divisor, left)
    rest = b.select(x < 0, -left, left)
    return rest if fmod else b.select(_differ_in_sign(b, rest, y), rest + y, rest)


def _differ_in_sign(b: Decomposition, x: Tensor, y: Tensor) -> Tensor:
    """Return where x is not 0 and its sign is not that of y."""
    zero = b.number(x, 0)
    return b.logical_or(b.logical_and(x < zero, b.greater_equal(y, zero)), b.logical_and(x > zero, y < zero))


def broadcast(b: Decomposition, x: Tensor, shape: Shape) -> Tensor:
    own = (1,) * (len(shape) - len(x.shape)) + x.shape
    counts = [size // have for size, have in zip(shape, own, strict=True)]
    return b.reshape(x, own) if max(counts) == 1 else b.tile(b.reshape(x, own), np.array(counts, np.int32))
