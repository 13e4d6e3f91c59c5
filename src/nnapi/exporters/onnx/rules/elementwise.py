"""Operations on each element, and between types."""

from __future__ import annotations

from typing import Any

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.exporters.onnx.context import Context, lower
from nnapi.exporters.onnx.graph import Value, constant
from nnapi.ops.shapes import axis_of

UNARY = {
    Op.ABS: "Abs",
    Op.NEG: "Neg",
    Op.EXP: "Exp",
    Op.LOG: "Log",
    Op.FLOOR: "Floor",
    Op.SIN: "Sin",
    Op.SQRT: "Sqrt",
    Op.TANH: "Tanh",
    Op.LOGISTIC: "Sigmoid",
    Op.RELU: "Relu",
    Op.HARD_SWISH: "HardSwish",
}
COMPARISONS = {
    Op.EQUAL: "Equal",
    Op.LESS: "Less",
    Op.LESS_EQUAL: "LessOrEqual",
    Op.GREATER: "Greater",
    Op.GREATER_EQUAL: "GreaterOrEqual",
}


@lower(*UNARY)
def unary(context: Context, input: Value) -> Value:
    return context.compute(UNARY[context.call.operation.code], input)


@lower(Op.RELU1, Op.RELU6)
def rectifier(context: Context, input: Value) -> Value:
    low, high = (-1, 1) if context.kind == "RELU1" else (0, 6)
    return context.store(context.clip(context.real(input), low, high))


@lower(Op.RSQRT)
def reciprocal_root(context: Context, input: Value) -> Value:
    x = context.real(input)
    return context.store(context.emit("Reciprocal", [context.emit("Sqrt", [x], x.like())], x.like()))


@lower(Op.ADD, Op.SUB, Op.MUL, Op.DIV)
def arithmetic(context: Context, lhs: Value, rhs: Value) -> Value:
    if context.kind == "DIV" and lhs.element == np.int32:
        return _floored_quotient(context, lhs, rhs)
    return context.compute(context.kind.capitalize(), lhs, rhs)


def _floored_quotient(context: Context, lhs: Value, rhs: Value) -> Value:
    """NNAPI's quotient of integers is rounded down, ONNX's towards zero: one less where they differ."""
    out = context.result()
    quotient = context.emit("Div", [lhs, rhs], out.like())
    rest = context.emit("Sub", [lhs, context.emit("Mul", [quotient, rhs], out.like())], out.like())
    zero = context.fill(lhs, 0)
    exact = context.emit("Equal", [rest, zero], out.like(element=np.bool_))
    signs = [context.emit("Less", [each, zero], each.like(element=np.bool_)) for each in (rest, rhs)]
    differ = context.emit("Xor", signs, out.like(element=np.bool_))
    beyond = context.emit("And", [context.emit("Not", [exact], exact.like()), differ], exact.like())
    return context.emit("Sub", [quotient, context.emit("Cast", [beyond], out.like(), to=out.element)], out)


@lower(*COMPARISONS, Op.NOT_EQUAL)
def comparison(context: Context, x: Value, y: Value) -> Value:
    """Booleans are ordered as 0 and 1."""
    kind = COMPARISONS.get(context.call.operation.code, "Equal")
    pair = [context.real(each) for each in (x, y)]
    if x.element == np.bool_ and kind != "Equal":
        pair = [context.emit("Cast", [each], each.like(element=np.int32), to=np.dtype(np.int32)) for each in pair]
    out = context.emit(kind, pair, context.result())
    return context.emit("Not", [out], out.like()) if context.kind == "NOT_EQUAL" else out


@lower(Op.LOGICAL_AND, Op.LOGICAL_OR)
def both_or_either(context: Context, x: Value, y: Value) -> Value:
    return context.move("And" if context.kind == "LOGICAL_AND" else "Or", [x, y])


@lower(Op.LOGICAL_NOT)
def negation(context: Context, x: Value) -> Value:
    return context.move("Not", [x])


@lower(Op.MAXIMUM, Op.MINIMUM)
def extreme(context: Context, a: Value, b: Value) -> Value:
    return context.compute("Max" if context.kind == "MAXIMUM" else "Min", a, b)


@lower(Op.POW)
def power(context: Context, base: Value, exponent: Value) -> Value:
    return context.compute("Pow", base, exponent)


@lower(Op.SELECT)
def select(context: Context, condition: Value, a: Value, b: Value) -> Value:
    out = context.result()
    if a.same_codes(out) and b.same_codes(out):
        return context.emit("Where", [condition, a, b], out)
    reals = [context.real(each) for each in (a, b)]
    return context.store(context.emit("Where", [condition, *reals], out.like(real=True)))


@lower(Op.PRELU)
def prelu(context: Context, input: Value, alpha: Value) -> Value:
    """ONNX's slope is stretched to the input, NNAPI stretches both to each other."""
    x, slope, out = context.real(input), context.real(alpha), context.result().like(real=True)
    if out.shape == x.shape:
        return context.store(context.emit("PRelu", [x, slope], out))
    sloped = context.emit("Mul", [x, slope], out.like())
    kept = context.emit("GreaterOrEqual", [x, context.fill(x, 0)], x.like(element=np.bool_))
    return context.store(context.emit("Where", [kept, x, sloped], out))


@lower(Op.ELU)
def elu(context: Context, input: Value, alpha: float) -> Value:
    return context.compute("Elu", input, alpha=float(alpha))


@lower(Op.SOFTMAX, Op.LOG_SOFTMAX)
def softmax(context: Context, input: Value, beta: float, axis: int) -> Value:
    x = context.real(input)
    if beta != 1:
        x = context.emit("Mul", [x, context.fill(x, beta)], x.like())
    kind = "Softmax" if context.kind == "SOFTMAX" else "LogSoftmax"
    return context.store(context.emit(kind, [x], x.like(), axis=axis_of(axis, len(x.shape))))


@lower(Op.QUANTIZE)
def quantize(context: Context, input: Value) -> Value:
    return context.store(input)


@lower(Op.DEQUANTIZE)
def dequantize(context: Context, input: Value) -> Value:
    codes = input.meaning
    real = context.dequantize(input, codes, codes.channel.dimension if codes.channel else 0)
    return context.cast(real, context.result().element)


@lower(Op.CAST)
def cast(context: Context, input: Value) -> Value:
    """Convert the stored values; values outside the range of a byte saturate."""
    out = context.result()
    if input.element == out.element:
        return input
    if out.element.itemsize == 1:
        limits = np.iinfo(out.element)
        wide = context.cast(input, np.float32) if input.element == np.float16 else input
        input = context.clip(wide, limits.min, limits.max)
    return context.emit("Cast", [input], out, to=out.element)


@lower(Op.FILL)
def fill(context: Context, dims: Any, value: float) -> Value:
    out = context.result()
    return context.emit("Expand", [constant(value, out.element), constant(out.shape)], out)
