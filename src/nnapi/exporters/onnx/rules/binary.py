"""Arithmetic, comparisons, logic and bits on pairs of elements."""

from collections.abc import Sequence

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.exporters.onnx.context import OnnxContext, lower
from nnapi.exporters.onnx.graph import Value, constant
from nnapi.lowering.refusal import require
from nnapi.operation_codes import CompositeCode as Composite


@lower(Op.ADD, Op.SUB, Op.MUL, Op.MAXIMUM, Op.MINIMUM, Op.POW, Op.LOGICAL_AND, Op.LOGICAL_OR)
def function(context: OnnxContext, **inputs: Value) -> Value:
    return context.compute(context.kind, *inputs.values())


@lower(Op.DIV)
def quotient(context: OnnxContext, lhs: Value, rhs: Value) -> Value:
    """Divide integers. NNAPI rounds down, ONNX towards zero, so subtract one where they differ."""
    if lhs.element != np.int32:
        return context.compute("Div", lhs, rhs)
    out = context.result()
    towards_zero = context.emit("Div", [lhs, rhs], out.like())
    rest = context.emit("Sub", [lhs, context.emit("Mul", [towards_zero, rhs], out.like())], out.like())
    zero = constant(0, lhs.element)
    exact = context.emit("Equal", [rest, zero], out.like(element=np.bool_))
    signs = [context.emit("Less", [each, zero], each.like(element=np.bool_)) for each in (rest, rhs)]
    differ = context.emit("Xor", signs, out.like(element=np.bool_))
    beyond = context.emit("And", [context.emit("Not", [exact], exact.like()), differ], exact.like())
    return context.emit("Sub", [towards_zero, context.cast(beyond, out.element)], out)


@lower(Op.EQUAL, Op.LESS, Op.LESS_EQUAL, Op.GREATER, Op.GREATER_EQUAL)
def compare(context: OnnxContext, x: Value, y: Value) -> Value:
    pair = [context.real(each) for each in (x, y)]
    if x.element == np.bool_ and context.code != Op.EQUAL:
        pair = [context.cast(each, np.int32) for each in pair]
    return context.move(context.kind, pair)


@lower(Composite.MOD)
def mod(context: OnnxContext, x: Value, y: Value, fmod: bool) -> Value:
    require(fmod or x.element == np.int32, "ONNX's Mod of floats has the sign of the dividend")
    return context.compute("Mod", x, y, fmod=int(fmod))


@lower(Composite.BITWISE_AND, Composite.BITWISE_OR, Composite.BITWISE_XOR)
def bitwise(context: OnnxContext, x: Value, y: Value) -> Value:
    return context.move(context.kind, [x, y])


@lower(Composite.LEFT_SHIFT, Composite.RIGHT_SHIFT)
def shift(context: OnnxContext, x: Value, y: Value) -> Value:
    """Emit BitShift of unsigned 32-bit integers, the only type of this size that ONNX shifts.

    Bits that are flipped before and after a shift to the right fill with copies of the sign. A count below 0 or above
    31 leaves only what fills, as 31 does to the right.
    """
    out, is_left = context.result(), context.code == Composite.LEFT_SHIFT
    wide, count = context.cast(x, np.int32), context.cast(y, np.int32)
    shape = out.shape
    is_negative, is_beyond = (
        context.emit("Less", pair, count.like(element=np.bool_))
        for pair in ([count, constant(0, np.int32)], [constant(31, np.int32), count])
    )
    is_empty = context.emit("Or", [is_negative, is_beyond], is_negative.like())
    most = context.emit("Where", [is_empty, constant(31, np.int32), count], count.like())
    if is_left:
        shifted = _shift_bits(context, wide, most, shape, "LEFT")
        made = context.emit("Where", [is_empty, constant(0, np.int32), shifted], shifted.like())
    else:
        sign = context.emit("Less", [wide, constant(0, np.int32)], wide.like(element=np.bool_))
        flips = context.emit("Neg", [context.cast(sign, np.int32)], wide.like())
        flipped = context.emit("BitwiseXor", [wide, flips], wide.like())
        shifted = _shift_bits(context, flipped, most, shape, "RIGHT")
        made = context.emit("BitwiseXor", [shifted, flips], shifted.like())
    return made if made.element == out.element else context.emit("Cast", [made], out, to=out.element)


def _shift_bits(context: OnnxContext, x: Value, y: Value, shape: Sequence[int], direction: str) -> Value:
    pair = [context.cast(each, np.uint32) for each in (x, y)]
    shifted = context.emit("BitShift", pair, pair[0].like(shape), direction=direction)
    return context.cast(shifted, np.int32)
