"""One number in, one number out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nnapi.codes import FuseCode, OperandCode
from nnapi.drivers.openvino.api import op
from nnapi.drivers.openvino.context import Context, activate, integers, lower
from nnapi.drivers.openvino.value import Node, Value, decode_exactly, number
from nnapi.lowering.lower import require
from nnapi.model.operation import Operation
from nnapi.ops import activation, cast, elementwise, logical_not, quantize
from nnapi.ops.quantization import code_bounds, same_quantization
from nnapi.ops.types import INT32


def _each(operation: Operation, function: Callable[[Node], Node]) -> None:
    @lower(operation)
    def rule(context: Context, **operands: Value) -> Value:
        (input,) = operands.values()
        first = input.is_channels_first
        return context.result(function(input.real(first)), first=first)


def _limit(operation: Operation, to: FuseCode) -> None:
    @lower(operation)
    def rule(context: Context, input: Value) -> Value:
        first = input.is_channels_first
        (kept,) = context.call.kept_results()
        if same_quantization(input.type, kept):
            return context.result(activate(input.real(first), to, input.type), first=first)
        low, high = map(input.type.dtype.type, code_bounds(input.type, to))
        codes = op.maximum(input.node("stored", first), op.constant(low))  # a finer scale shows limits of numbers
        return Value.of(op.minimum(codes, op.constant(high)), input.type, "stored", first=first)


_each(activation.RELU, op.relu)
_limit(activation.RELU1, FuseCode.FUSED_RELU1)
_limit(activation.RELU6, FuseCode.FUSED_RELU6)
_each(activation.TANH, op.tanh)
_each(activation.LOGISTIC, op.sigmoid)
_each(activation.HARD_SWISH, op.hswish)
_each(elementwise.FLOOR, op.floor)
_each(elementwise.LOG, op.log)
_each(elementwise.NEG, op.negative)
_each(elementwise.SIN, op.sin)
_each(elementwise.SQRT, op.sqrt)
_each(logical_not.LOGICAL_NOT, op.logical_not)
_each(quantize.QUANTIZE, lambda x: x)


@lower(elementwise.ABS)
def abs_(context: Context, input: Value) -> Value:
    """Of a row as of a table with one: the engine moves that of a row in front of a concatenation, whoever else reads
    the numbers."""
    x, first = input.real(input.is_channels_first), input.is_channels_first
    if input.type.rank != 1:
        return context.result(op.abs(x), first=first)
    row = op.reshape(x, integers([1, input.type.size]), False)
    return context.result(op.reshape(op.abs(row), integers([input.type.size]), False))


@lower(elementwise.EXP)
def exp(context: Context, input: Value) -> Value:
    """The square of half the exponent's: the engine's own is infinite where the result is finite, but large."""
    first = input.is_channels_first
    root = op.exp(op.multiply(input.real(first), number(0.5)))
    return context.result(op.multiply(root, root), first=first)


@lower(quantize.DEQUANTIZE)
def dequantize(context: Context, input: Value) -> Value:
    """From the codes themselves: numbers that the engine has rounded to codes are a little off, also those of 0."""
    first = input.is_channels_first
    return context.result(decode_exactly(input.node("stored", first), input.type), first=first)


@lower(elementwise.RSQRT)
def rsqrt(context: Context, input: Value) -> Value:
    """What is not above 0 gives infinity, and so the highest code, where there are codes: 0 must be exact there."""
    first = input.is_channels_first
    if input.type.is_quantized:
        exact = decode_exactly(input.node("stored", first), input.type)
        x = op.maximum(exact, number(float(np.finfo(np.float32).tiny)))
    else:
        x = input.real(first)
    return context.result(op.divide(number(1), op.sqrt(x)), first=first)


@lower(activation.ELU)
def elu(context: Context, input: Value, alpha: float) -> Value:
    require(alpha > 0, f"alpha is {alpha}, the engine is wrong where it is not above 0")
    first = input.is_channels_first
    return context.result(op.elu(input.real(first), alpha), first=first)


@lower(cast.CAST)
def cast_to(context: Context, input: Value) -> Value:
    """Codes are cast as the integers they are; numbers are cut off towards zero and held within the target's range."""
    source, target = input.type, context.type()
    if source.code == target.code:
        if source.is_quantized:
            return Value.of(input.node("stored"), target, "stored")
        return context.move(input, lambda x: x)
    if source.dtype.kind == "f" and target.dtype.kind == "f":
        return Value.of(input.real(), target, "real")
    if source.dtype.kind != "f" and target.dtype.kind == "f":
        return Value.of(op.convert(input.node("stored"), "f32"), target, "real")
    if target.code == INT32:
        if source.dtype.kind != "f":
            return Value.of(op.convert(input.node("stored"), "i32"), target, "stored")
        most, x = np.iinfo(np.int32).max, input.real()  # the engine gives the least number for what is too large
        cut = op.select(op.greater_equal(x, number(most)), op.constant(np.int32(most)), op.convert(x, "i32"))
        return Value.of(cut, target, "stored")
    assert target.code == OperandCode.TENSOR_QUANT8_ASYMM
    x = input.real() if source.dtype.kind == "f" else op.convert(input.node("stored"), "f32")
    return Value.of(op.convert(op.floor(op.clamp(x, 0.0, 255.0)), "u8"), target, "stored")
