"""Functions of two elements; dimensions of 1 are broadcast."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from nnapi.codes import FuseCode
from nnapi.drivers.openvino.api import op
from nnapi.drivers.openvino.context import Context, activate, computes_first, integers, lower
from nnapi.drivers.openvino.patterns import multiply
from nnapi.drivers.openvino.value import NHWC_TO_NCHW, Node, Value, number
from nnapi.lowering.lower import require
from nnapi.model.operation import Operation
from nnapi.ops import broadcast, comparisons, pairwise
from nnapi.ops.quantization import same_quantization
from nnapi.ops.types import INT32

Function = Callable[..., Node]
SMALL = 2.0**-100
"""The reciprocal of a smaller float may be infinite."""


def align(values: Sequence[Value]) -> tuple[list[Node], bool]:
    """Return nodes of one rank that broadcast, and whether they are NCHW.

    The engine broadcasts lower ranks too, but may then drop axes of length 1 of the others.
    """
    rank = max(value.type.rank for value in values)
    first = rank == 4 and computes_first(*values)
    return [_of_rank(value, rank, first) for value in values], first


def _of_rank(value: Value, rank: int, first: bool) -> Node:
    if value.type.rank == rank:
        return value.real(first)
    shape = (1,) * (rank - value.type.rank) + value.type.dimensions
    if value.array is not None and not value.type.channel:
        return Value(value.type.with_dimensions(shape), value.name, value.array.reshape(shape)).real(first)
    node = op.reshape(value.real(), integers(shape), False)
    return op.transpose(node, integers(NHWC_TO_NCHW)) if first else node


def _pair(operation: Operation, function: Function) -> None:
    @lower(operation)
    def rule(context: Context, **operands: Value) -> Value:
        (x, y), first = align(list(operands.values()))
        return context.result(function(x, y), first=first)


for _operation, _function in (
    (pairwise.MAXIMUM, op.maximum),
    (pairwise.MINIMUM, op.minimum),
    (pairwise.POW, op.power),
    (pairwise.LOGICAL_AND, op.logical_and),
    (pairwise.LOGICAL_OR, op.logical_or),
):
    _pair(_operation, _function)


def _scaling(operation: Operation, function: Function) -> None:
    """Register a rule of a function that changes signs where one operand is a negative constant."""

    @lower(operation)
    def rule(context: Context, lhs: Value, rhs: Value) -> Value:
        (x, y), first = align([lhs, rhs])
        return context.clamped_result(function(x, y), first=first)


@lower(broadcast.ADD)
def add(context: Context, lhs: Value, rhs: Value) -> Value:
    """The engine moves limits of a sum with a constant before the sum, where it rounds them differently."""
    (x, y), first = align([lhs, rhs])
    is_computed = lhs.array is None and rhs.array is None
    return (
        context.result(op.add(x, y), first=first) if is_computed else context.clamped_result(op.add(x, y), first=first)
    )


_scaling(broadcast.MUL, multiply)
_scaling(broadcast.SUB, op.subtract)


@lower(broadcast.DIV)
def div(context: Context, lhs: Value, rhs: Value) -> Value:
    """NaN stays NaN under an activation: 0 / 0 is NaN."""
    require(lhs.type.code != INT32, f"{lhs.name} is TENSOR_INT32, of which the engine's quotients are not exact")
    (x, y), first = align([lhs, rhs])
    if rhs.array is not None and np.abs(rhs.array).min() >= SMALL:
        return context.result(op.divide(x, y), first=first)
    quotient = _quotient(x, y)
    limited = activate(quotient, context.activation, context.type())
    if context.activation != FuseCode.FUSED_NONE:
        limited = op.select(op.is_nan(quotient), quotient, limited)
    return Value.of(limited, context.type(), "real", first=first)


def _quotient(x: Node, y: Node) -> Node:
    """Divide. The engine multiplies by the reciprocal, which is infinite for the smallest floats: there both operands
    are multiplied by a power of two first. Where that overflows, so does the quotient."""
    factor = op.select(op.less(op.abs(y), number(SMALL)), number(2.0**64), number(1))
    return op.divide(op.multiply(x, factor), op.multiply(y, factor))


def _comparison(operation: Operation, function: Function) -> None:
    @lower(operation)
    def rule(context: Context, x: Value, y: Value) -> Value:
        if not x.type.is_quantized:
            nodes, first = align([x, y])
            return context.result(function(*nodes), first=first)
        require(
            same_quantization(x.type, y.type),
            f"{x.name} and {y.name} differ in scale or zero point, and the engine may see equal numbers as unequal",
        )
        return context.result(function(*(op.convert(value.node("stored"), "i32") for value in (x, y))))


for _operation, _function in (
    (comparisons.EQUAL, op.equal),
    (comparisons.NOT_EQUAL, op.not_equal),
    (comparisons.GREATER, lambda x, y: op.less(y, x)),  # the engine's own is true of what is not a number
    (comparisons.GREATER_EQUAL, lambda x, y: op.less_equal(y, x)),
    (comparisons.LESS, op.less),
    (comparisons.LESS_EQUAL, op.less_equal),
):
    _comparison(_operation, _function)
