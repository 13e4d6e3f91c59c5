"""Arithmetic, comparisons and logic on pairs of elements."""

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.exporters.onnx.context import Context, lower
from nnapi.exporters.onnx.graph import Value, constant
from nnapi.lowering.refusal import require
from nnapi.operation_codes import CompositeCode as Composite


@lower(Op.ADD, Op.SUB, Op.MUL, Op.MAXIMUM, Op.MINIMUM, Op.POW, Op.LOGICAL_AND, Op.LOGICAL_OR)
def function(context: Context, **inputs: Value) -> Value:
    return context.compute(context.kind, *inputs.values())


@lower(Op.DIV)
def quotient(context: Context, lhs: Value, rhs: Value) -> Value:
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
def compare(context: Context, x: Value, y: Value) -> Value:
    pair = [context.real(each) for each in (x, y)]
    if x.element == np.bool_ and context.code != Op.EQUAL:
        pair = [context.cast(each, np.int32) for each in pair]
    return context.move(context.kind, pair)


@lower(Composite.MOD)
def mod(context: Context, x: Value, y: Value, fmod: bool) -> Value:
    require(fmod or x.element == np.int32, "ONNX's Mod of floats has the sign of the dividend")
    return context.compute("Mod", x, y, fmod=int(fmod))


@lower(Composite.BITWISE_AND, Composite.BITWISE_OR, Composite.BITWISE_XOR)
def bitwise(context: Context, x: Value, y: Value) -> Value:
    return context.move(context.kind, [x, y])
