"""Operations on each element, and between types."""

from __future__ import annotations

from typing import Any

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.exporters.tflite.context import Context, lower
from nnapi.formats.tflite.graph import Tensor
from nnapi.formats.tflite.schema import ELEMENTS
from nnapi.lowering.lower import require
from nnapi.ops.shapes import axis_of

RENAMED = {"RELU1": "RELU_N1_TO_1"}


@lower(Op.ADD, Op.SUB, Op.MUL, Op.DIV)
def arithmetic(context: Context, lhs: Tensor, rhs: Tensor) -> Tensor:
    """NNAPI's quotient of integers is rounded down, TFLite's DIV towards zero."""
    if context.kind == "DIV" and lhs.type == "i32":
        return context.emit("FLOOR_DIV", [lhs, rhs])
    return context.emit(context.kind, [lhs, rhs], activation=context.activation)


@lower(
    *(Op.ABS, Op.NEG, Op.EXP, Op.LOG, Op.FLOOR, Op.SIN, Op.SQRT, Op.TANH, Op.LOGISTIC, Op.HARD_SWISH),
    *(Op.RELU, Op.RELU1, Op.RELU6, Op.QUANTIZE, Op.DEQUANTIZE),
)
def unary(context: Context, input: Tensor) -> Tensor:
    return context.emit(RENAMED.get(context.kind, context.kind), [input])


@lower(Op.RSQRT)
def reciprocal_root(context: Context, input: Tensor) -> Tensor:
    """Of codes TFLite takes signed ones with other roundings."""
    return context.store(context.emit("RSQRT", [context.real(input)], context.real_result()))


@lower(Op.LOGICAL_NOT)
def negation(context: Context, x: Tensor) -> Tensor:
    return context.emit("LOGICAL_NOT", [x])


@lower(Op.EQUAL, Op.NOT_EQUAL, Op.LESS, Op.LESS_EQUAL, Op.GREATER, Op.GREATER_EQUAL, Op.LOGICAL_AND, Op.LOGICAL_OR)
def comparison(context: Context, x: Tensor, y: Tensor) -> Tensor:
    """Booleans are ordered as 0 and 1; codes of two scales by the numbers that they stand for."""
    if x.type == "bool" and context.kind not in OF_BOOLEANS:
        x, y = (_cast(context, each, each.like(type="i32")) for each in (x, y))
    elif not x.same_codes(y):
        x, y = context.real(x), context.real(y)
    return context.emit(context.kind, [x, y])


OF_BOOLEANS = ("EQUAL", "NOT_EQUAL", "LOGICAL_AND", "LOGICAL_OR")


def _cast(context: Context, tensor: Tensor, out: Tensor) -> Tensor:
    return context.emit("CAST", [tensor], out, source=ELEMENTS[tensor.type], target=ELEMENTS[out.type])


@lower(Op.MAXIMUM, Op.MINIMUM)
def extreme(context: Context, a: Tensor, b: Tensor) -> Tensor:
    """Of codes TFLite takes those of one scale."""
    out = context.result()
    if not out.is_quantized or (a.same_codes(out) and b.same_codes(out)):
        return context.emit(context.kind, [a, b], out)
    return context.store(context.emit(context.kind, [context.real(a), context.real(b)], context.real_result()))


@lower(Op.POW)
def power(context: Context, base: Tensor, exponent: Tensor) -> Tensor:
    return context.emit("POW", [base, exponent])


@lower(Op.SELECT)
def select(context: Context, condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
    out = context.result()
    if not out.is_quantized or (a.same_codes(out) and b.same_codes(out)):
        return context.emit("SELECT", [condition, a, b], out)
    reals = context.real(a), context.real(b)
    return context.store(context.emit("SELECT", [condition, *reals], context.real_result()))


@lower(Op.PRELU)
def prelu(context: Context, input: Tensor, alpha: Tensor) -> Tensor:
    return context.emit("PRELU", [input, alpha])


@lower(Op.ELU)
def elu(context: Context, input: Tensor, alpha: float) -> Tensor:
    """TFLite's has an alpha of 1, by another one that part is multiplied that lies below 0."""
    if alpha == 1:
        return context.emit("ELU", [input])
    x = context.real(input)
    above = context.emit("RELU", [x], x.like())
    below = context.emit("SUB", [context.emit("ELU", [x], x.like()), above], x.like(), activation=0)
    scaled = context.emit("MUL", [below, context.fill(below, alpha)], x.like(), activation=0)
    return context.store(context.emit("ADD", [above, scaled], x.like(), activation=0))


@lower(Op.SOFTMAX)
def softmax(context: Context, input: Tensor, beta: float, axis: int) -> Tensor:
    return along_last_axis(context, "SOFTMAX", input, axis, beta=beta)


@lower(Op.LOG_SOFTMAX)
def log_softmax(context: Context, input: Tensor, beta: float, axis: int) -> Tensor:
    """TFLite's has a beta of 1."""
    if beta != 1:
        input = context.emit("MUL", [input, context.fill(input, beta)], input.like(), activation=0)
    return along_last_axis(context, "LOG_SOFTMAX", input, axis)


def along_last_axis(context: Context, kind: str, input: Tensor, axis: int, **options: Any) -> Tensor:
    """An operator that TFLite has along the last axis alone, along any."""
    rank = len(input.shape)
    axis = axis_of(axis, rank)
    if axis == rank - 1:
        return context.emit(kind, [input], **options)
    order = [*(i for i in range(rank) if i != axis), axis]
    turned = context.transpose(input, order)
    made = context.emit(kind, [turned], context.result().like(shape=turned.shape), **options)
    return context.transpose(made, np.argsort(order).tolist())


@lower(Op.CAST)
def cast(context: Context, input: Tensor) -> Tensor:
    """What a byte cannot hold is the nearest that it can; of integers TFLite drops the higher bits."""
    out = context.result()
    if input.same_codes(out):
        return context.reshape(input, out.shape, out)
    require("i8" not in (input.type, out.type), "TFLite casts signed bytes in another way")
    if (input.type, out.type) == ("i32", "u8"):
        limits = np.iinfo(np.uint8)
        for kind, limit in (("MAXIMUM", limits.min), ("MINIMUM", limits.max)):
            input = context.emit(kind, [input, context.fill(input, limit)], input.like())
    return _cast(context, input, out)
