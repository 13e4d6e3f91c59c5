"""Operations on each element, and between types."""

from __future__ import annotations

from nnapi.codes import OperationCode as Op
from nnapi.drivers.lowering import require
from nnapi.exporters.tflite.context import Context, lower
from nnapi.formats.tflite.graph import Tensor, constant
from nnapi.formats.tflite.schema import ELEMENTS

RENAMED = {"RELU1": "RELU_N1_TO_1"}


@lower(Op.ADD, Op.SUB, Op.MUL, Op.DIV)
def fusing(context: Context, lhs: Tensor, rhs: Tensor) -> Tensor:
    """NNAPI's quotient of integers is rounded down, TFLite's DIV towards zero."""
    if context.kind == "DIV" and lhs.type == "i32":
        return context.emit("FLOOR_DIV", [lhs, rhs])
    return context.emit(context.kind, [lhs, rhs], activation=context.activation)


@lower(
    *(Op.ABS, Op.NEG, Op.EXP, Op.LOG, Op.FLOOR, Op.SIN, Op.SQRT, Op.RSQRT, Op.TANH, Op.LOGISTIC, Op.HARD_SWISH),
    *(Op.RELU, Op.RELU1, Op.RELU6, Op.QUANTIZE, Op.DEQUANTIZE),
)
def unary(context: Context, input: Tensor) -> Tensor:
    return context.emit(RENAMED.get(context.kind, context.kind), [input])


@lower(Op.LOGICAL_NOT)
def negation(context: Context, x: Tensor) -> Tensor:
    return context.emit("LOGICAL_NOT", [x])


@lower(Op.EQUAL, Op.NOT_EQUAL, Op.LESS, Op.LESS_EQUAL, Op.GREATER, Op.GREATER_EQUAL, Op.LOGICAL_AND, Op.LOGICAL_OR)
def comparison(context: Context, x: Tensor, y: Tensor) -> Tensor:
    require(x.type != "bool" or context.kind in OF_BOOLEANS, f"TFLite's {context.kind} takes no booleans")
    return context.emit(context.kind, [x, y])


OF_BOOLEANS = ("EQUAL", "NOT_EQUAL", "LOGICAL_AND", "LOGICAL_OR")


@lower(Op.MAXIMUM, Op.MINIMUM)
def extreme(context: Context, a: Tensor, b: Tensor) -> Tensor:
    out = context.result()
    if out.is_quantized:
        require(a.same_codes(out) and b.same_codes(out), f"TFLite's {context.kind} takes codes of one scale")
    return context.emit(context.kind, [a, b], out)


@lower(Op.POW)
def power(context: Context, base: Tensor, exponent: Tensor) -> Tensor:
    return context.emit("POW", [base, exponent])


@lower(Op.SELECT)
def select(context: Context, condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
    out = context.result()
    same = not out.is_quantized or (a.same_codes(out) and b.same_codes(out))
    require(same, "TFLite's SELECT takes codes of one scale")
    return context.emit("SELECT", [condition, a, b], out)


@lower(Op.PRELU)
def prelu(context: Context, input: Tensor, alpha: Tensor) -> Tensor:
    return context.emit("PRELU", [input, alpha])


@lower(Op.ELU)
def elu(context: Context, input: Tensor, alpha: float) -> Tensor:
    require(alpha == 1, f"TFLite's ELU has an alpha of 1, this one {alpha:g}")
    return context.emit("ELU", [input])


@lower(Op.SOFTMAX)
def softmax(context: Context, input: Tensor, beta: float, axis: int) -> Tensor:
    require(axis in (-1, len(input.shape) - 1), f"TFLite's SOFTMAX is along the last axis, this one along {axis}")
    return context.emit("SOFTMAX", [input], beta=beta)


@lower(Op.LOG_SOFTMAX)
def log_softmax(context: Context, input: Tensor, beta: float, axis: int) -> Tensor:
    last = axis in (-1, len(input.shape) - 1)
    require(
        last and beta == 1, f"TFLite's LOG_SOFTMAX is along the last axis with a beta of 1, not {axis} and {beta:g}"
    )
    return context.emit("LOG_SOFTMAX", [input])


@lower(Op.CAST)
def cast(context: Context, input: Tensor) -> Tensor:
    out = context.result()
    if input.same_codes(out):
        return context.emit("RESHAPE", [input, constant(out.shape)], out)
    require("i8" not in (input.type, out.type), "TFLite casts signed bytes in another way")
    return context.emit("CAST", [input], out, source=ELEMENTS[input.type], target=ELEMENTS[out.type])
