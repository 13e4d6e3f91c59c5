"""Operations on each element, and between types."""

from __future__ import annotations

from typing import Any

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.exporters.onnx.context import Context, lower
from nnapi.exporters.onnx.graph import Value, constant
from nnapi.lowering.lower import require
from nnapi.ops.shapes import axis_of

COMPUTED = {
    Op.ABS: "Abs",
    Op.ADD: "Add",
    Op.EXP: "Exp",
    Op.FLOOR: "Floor",
    Op.HARD_SWISH: "HardSwish",
    Op.LOG: "Log",
    Op.LOGICAL_AND: "And",
    Op.LOGICAL_NOT: "Not",
    Op.LOGICAL_OR: "Or",
    Op.LOGISTIC: "Sigmoid",
    Op.MAXIMUM: "Max",
    Op.MINIMUM: "Min",
    Op.MUL: "Mul",
    Op.NEG: "Neg",
    Op.POW: "Pow",
    Op.RELU: "Relu",
    Op.SIN: "Sin",
    Op.SQRT: "Sqrt",
    Op.SUB: "Sub",
    Op.TANH: "Tanh",
}
COMPARISONS = {
    Op.EQUAL: "Equal",
    Op.LESS: "Less",
    Op.LESS_EQUAL: "LessOrEqual",
    Op.GREATER: "Greater",
    Op.GREATER_EQUAL: "GreaterOrEqual",
}


@lower(*COMPUTED)
def compute(context: Context, **inputs: Value) -> Value:
    return context.compute(COMPUTED[context.call.operation.code], *inputs.values())


@lower(Op.RELU1, Op.RELU6)
def rectifier(context: Context, input: Value) -> Value:
    low, high = (-1, 1) if context.kind == "RELU1" else (0, 6)
    return context.store(context.clip(context.real(input), low, high))


@lower(Op.RSQRT)
def reciprocal_root(context: Context, input: Value) -> Value:
    """Not its decomposition: RSQRT accepts any rank, DIV at most 4."""
    x = context.real(input)
    return context.store(context.emit("Reciprocal", [context.emit("Sqrt", [x], x.like())], x.like()))


@lower(Op.DIV)
def quotient(context: Context, lhs: Value, rhs: Value) -> Value:
    """Divide integers: NNAPI rounds down, ONNX towards zero; subtract one where they differ."""
    if lhs.element != np.int32:
        return context.compute("Div", lhs, rhs)
    out = context.result()
    towards_zero = context.emit("Div", [lhs, rhs], out.like())
    rest = context.emit("Sub", [lhs, context.emit("Mul", [towards_zero, rhs], out.like())], out.like())
    zero = context.fill(lhs, 0)
    exact = context.emit("Equal", [rest, zero], out.like(element=np.bool_))
    signs = [context.emit("Less", [each, zero], each.like(element=np.bool_)) for each in (rest, rhs)]
    differ = context.emit("Xor", signs, out.like(element=np.bool_))
    beyond = context.emit("And", [context.emit("Not", [exact], exact.like()), differ], exact.like())
    return context.emit("Sub", [towards_zero, context.cast(beyond, out.element)], out)


@lower(*COMPARISONS)
def comparison(context: Context, x: Value, y: Value) -> Value:
    pair = [context.real(each) for each in (x, y)]
    if x.element == np.bool_ and context.kind != "EQUAL":
        pair = [context.cast(each, np.int32) for each in pair]
    return context.move(COMPARISONS[context.call.operation.code], pair)


@lower(Op.SELECT)
def select(context: Context, condition: Value, a: Value, b: Value) -> Value:
    return context.move("Where", [condition, *context.in_one_scale([a, b])])


@lower(Op.PRELU)
def prelu(context: Context, input: Value, alpha: Value) -> Value:
    """ONNX broadcasts only the slope, NNAPI input and slope."""
    require(context.result().shape == input.shape, "ONNX does not stretch the input to its slope")
    return context.compute("PRelu", input, alpha)


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
    quantization = input.meaning
    real = context.dequantize(input, quantization, quantization.channel.dimension if quantization.channel else 0)
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
