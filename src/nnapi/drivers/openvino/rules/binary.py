"""Functions of pairs of elements, with broadcasting."""

import math
from typing import Any

import numpy as np

from nnapi.codes import FuseCode
from nnapi.codes import OperationCode as Op
from nnapi.drivers.openvino.api import op
from nnapi.drivers.openvino.context import OpenvinoContext, activate, align, lower
from nnapi.drivers.openvino.indices import find_range
from nnapi.drivers.openvino.value import Node, Value, divide
from nnapi.lowering.refusal import require
from nnapi.operation_codes import Code
from nnapi.operation_codes import CompositeCode as Composite
from nnapi.ops.quantized_values import same_quantization
from nnapi.ops.signature_types import INT32

FUNCTIONS: dict[Code, Any] = {
    Op.MAXIMUM: op.maximum,
    Op.MINIMUM: op.minimum,
    Op.POW: op.power,
    Op.LOGICAL_AND: op.logical_and,
    Op.LOGICAL_OR: op.logical_or,
}
BOUNDS: dict[Code, Any] = {
    Op.MAXIMUM: lambda x, y: op.select(op.less(x, y), y, x),
    Op.MINIMUM: lambda x, y: op.select(op.less(x, y), x, y),
}
"""Exact for each int32."""
ARITHMETIC: dict[Code, Any] = {Op.ADD: op.add, Op.SUB: op.subtract, Op.MUL: op.multiply}
COMPARISONS: dict[Code, Any] = {
    Op.EQUAL: op.equal,
    Op.NOT_EQUAL: op.not_equal,
    Op.GREATER: lambda x, y: op.less(y, x),  # the engine's GREATER is true for NaN
    Op.GREATER_EQUAL: lambda x, y: op.less_equal(y, x),
    Op.LESS: op.less,
    Op.LESS_EQUAL: op.less_equal,
}
BITWISE: dict[Code, Any] = {
    Composite.BITWISE_AND: op.bitwise_and,
    Composite.BITWISE_OR: op.bitwise_or,
    Composite.BITWISE_XOR: op.bitwise_xor,
}
EXACT = 2**24
"""Up to this number, float32 holds each integer, and a rounded quotient of two reaches no higher integer."""
SMALL = 2.0**-100
"""The reciprocal of a smaller float may be infinite."""


@lower(*FUNCTIONS)
def function(context: OpenvinoContext, **operands: Value) -> Value:
    if context.code in BOUNDS and any(_is_beyond_float(value) for value in operands.values()):
        return context.map(BOUNDS[context.code], *operands.values())
    return context.map(FUNCTIONS[context.code], *operands.values())


def _is_beyond_float(value: Value) -> bool:
    """Return whether float32 rounds a constant integer: the engine fuses two bounds into a clamp with float bounds."""
    array = value.array
    return array is not None and array.dtype.kind in "iu" and bool((array.astype(np.float32) != array).any())


@lower(*ARITHMETIC)
def arithmetic(context: OpenvinoContext, lhs: Value, rhs: Value) -> Value:
    """Clamp stored values: the engine moves a clamp before a sum with a constant, and rounds differently there."""
    are_computed = lhs.array is None and rhs.array is None
    if are_computed:
        lhs, rhs = lhs.rounded, rhs.rounded
        if context.code == Op.ADD:
            return context.map(op.add, lhs, rhs)
    (x, y), first = align([lhs, rhs])
    if context.is_quantized and context.code == Op.MUL:
        x, y = _keep_from_convolution(x, lhs, rhs), _keep_from_convolution(y, rhs, lhs)
    made = ARITHMETIC[context.code](x, y)
    factors = [value.array for value in (lhs, rhs) if value.array is not None] if context.code == Op.MUL else []
    if any(np.isinf(factor).any() for factor in factors):
        made = op.maximum(made, made)  # keeps the clamp behind an infinite factor
    return context.clamped_result(made, first=first)


def _keep_from_convolution(x: Node, value: Value, factor: Value) -> Node:
    """Keep constant factors out of a convolution before, if they differ along other axes than the last: there, the
    engine takes rows for channels. It does so with a factor for each element only if some are 0."""
    dimensions = factor.type.dimensions
    if factor.array is None or factor.array.size == math.prod(dimensions[-1:]):
        return x
    is_repeated = 1 in dimensions or len(dimensions) < len(value.type.dimensions)
    return op.maximum(x, x) if is_repeated or (factor.array == factor.type.zero_point).any() else x


@lower(Op.DIV)
def div(context: OpenvinoContext, lhs: Value, rhs: Value) -> Value:
    """Divide; NaN, for example of 0 / 0, stays NaN under an activation. The engine fuses reciprocals of constants."""
    (x, y), first = align([lhs, rhs])
    if lhs.type.code == INT32:
        return context.result(_divide_integers(x, y), first=first)
    if rhs.array is not None and np.abs(rhs.array).min() >= SMALL:
        return context.result(op.divide(x, y), first=first)
    quotient = divide(x, y)
    limited = activate(quotient, context.activation, context.type())
    if context.activation != FuseCode.FUSED_NONE:
        limited = op.select(op.is_nan(quotient), quotient, limited)
    return Value.of(limited, context.type(), "real", first=first)


@lower(Composite.MOD)
def mod(context: OpenvinoContext, x: Value, y: Value, fmod: bool) -> Value:
    require(x.type.code == INT32, "the engine's remainders of floats are not exact")
    (a, b), first = align([x, y])
    rest, zero = op.subtract(a, op.multiply(_divide_integers(a, b), b)), op.constant(np.int32(0))
    if _is_plain(a, b):
        return context.result(rest, first=first)
    rest = op.select(op.equal(b, zero), zero, rest)
    if fmod:
        is_other = op.logical_xor(op.less(rest, zero), op.less(a, zero))
        rest = op.select(op.logical_and(op.not_equal(rest, zero), is_other), op.subtract(rest, b), rest)
    return context.result(rest, first=first)


def _is_plain(x: Node, y: Node) -> bool:
    """Return whether integers are such that the engine's quotient is right: not negative, and exact as float32."""
    (low, high), (least, most) = find_range(x), find_range(y)
    return low >= 0 and high <= EXACT and 0 < least <= most <= EXACT


def _divide_integers(x: Node, y: Node) -> Node:
    """Divide integers, rounding down. The engine divides float32: the quotient of the remainder is added once, which is
    off by one at most, and then corrected."""
    quotient = op.convert(divide(op.convert(x, "f32"), op.convert(y, "f32")), "i32")
    if _is_plain(x, y):
        return quotient
    rest = op.subtract(x, op.multiply(quotient, y))
    quotient = op.add(quotient, op.convert(divide(op.convert(rest, "f32"), op.convert(y, "f32")), "i32"))
    rest, zero, one = op.subtract(x, op.multiply(quotient, y)), op.constant(np.int32(0)), op.constant(np.int32(1))
    is_negative = op.less(y, zero)
    size, over = op.select(is_negative, op.negative(y), y), op.select(is_negative, op.negative(rest), rest)
    step = op.select(op.less(over, zero), op.negative(one), op.select(op.less(over, size), zero, one))
    return op.select(op.equal(y, zero), zero, op.add(quotient, step))  # as NNAPI's CPU reference


@lower(*COMPARISONS)
def compare(context: OpenvinoContext, x: Value, y: Value) -> Value:
    function = COMPARISONS[context.code]
    if not x.type.is_quantized:
        return context.map(function, x, y)
    require(
        same_quantization(x.type, y.type),
        f"{x.name} and {y.name} differ in scale or zero point, and the engine may see equal numbers as unequal",
    )
    return context.result(function(*(op.convert(value.node("stored"), "i32") for value in (x, y))))


@lower(*BITWISE)
def bitwise(context: OpenvinoContext, x: Value, y: Value) -> Value:
    require(x.type.code == INT32, f"{x.name} is {x.type.name}, of which the engine's rule takes no bits")
    return context.map(BITWISE[context.code], x, y)
