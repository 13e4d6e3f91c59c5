"""QUANTIZE, DEQUANTIZE, CAST, QUANTIZE_TO_EVEN, CONVERT."""

import numpy as np

from nnapi.codes import OperandCode
from nnapi.codes import OperationCode as Op
from nnapi.drivers.openvino.api import op
from nnapi.drivers.openvino.context import OpenvinoContext, lower
from nnapi.drivers.openvino.value import ELEMENTS, STEPS, Kind, Value, divide, number
from nnapi.operation_codes import CompositeCode as Composite
from nnapi.ops.signature_types import BOOL8, INT32


@lower(Op.QUANTIZE)
def quantize(context: OpenvinoContext, input: Value) -> Value:
    """Return the quantized value from which the input was dequantized, if it was only moved since; else quantize."""
    if input.quantized is not None and input.quantized.type == context.type():
        return input.quantized
    return context.map(lambda x: x, input)


@lower(Composite.QUANTIZE_TO_EVEN)
def quantize_to_even(context: OpenvinoContext, input: Value) -> Value:
    if input.quantized is not None and input.quantized.type == context.type():
        return input.quantized
    scale = number(context.type().scale)  # the engine's own rounding to quantized values multiplies by 1 / scale
    return context.map(lambda x: op.multiply(op.round(divide(x, scale), "half_to_even"), scale), input)


@lower(Op.DEQUANTIZE)
def dequantize(context: OpenvinoContext, input: Value) -> Value:
    """Dequantize the stored values exactly: the floats of the engine's own rounding are slightly off, also for 0."""
    first = input.is_channels_first
    result = context.result(input.exact(first), first=first)
    result.quantized = input if context.type().code == OperandCode.TENSOR_FLOAT32 else None
    return result


@lower(Op.CAST)
def cast(context: OpenvinoContext, input: Value) -> Value:
    """Cast quantized values as plain integers; truncate floats, and clamp them to the target's range."""
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
        most, x = np.iinfo(np.int32).max, input.real()  # the engine converts larger values to the least integer
        cut = op.select(op.greater_equal(x, number(most)), op.constant(np.int32(most)), op.convert(x, "i32"))
        return Value.of(cut, target, "stored")
    assert target.code == OperandCode.TENSOR_QUANT8_ASYMM
    x = input.real() if source.dtype.kind == "f" else op.convert(input.node("stored"), "f32")
    return Value.of(op.convert(op.floor(op.clamp(x, 0.0, 255.0)), "u8"), target, "stored")


@lower(Composite.CONVERT)
def convert(context: OpenvinoContext, input: Value) -> Value:
    """Convert stored values; integers keep their lowest bits, floats are rounded towards zero and clamped."""
    source, target = input.type, context.type()
    if source.code == target.code:
        return cast(context, input)
    if target.code == BOOL8:
        x = input.real() if source.dtype.kind == "f" else input.node("stored")
        return Value.of(op.not_equal(x, op.constant(np.zeros((), x.get_element_type().to_dtype()))), target, "real")
    if source.code == BOOL8:
        kind: Kind = "stored" if target.is_quantized or target.code == INT32 else "real"
        element = ELEMENTS[OperandCode(target.code)].get_type_name() if kind == "stored" else "f32"
        return Value.of(op.convert(input.real(), element), target, kind)
    if not target.is_quantized:
        return cast(context, input)
    limits = np.iinfo(target.dtype)
    if source.dtype.kind == "f":
        x = op.clamp(input.real(), float(limits.min), float(limits.max))
        x = op.select(op.less(x, number(0)), op.ceiling(x), op.floor(x))  # the engine may drop conversions in a row
        whole = op.convert(x, "i32")
    else:
        least = op.constant(np.int32(limits.min))
        bits = op.subtract(op.convert(input.node("stored"), "i32"), least)
        whole = op.add(op.bitwise_and(bits, op.constant(np.int32(STEPS - 1))), least)
    return Value.of(op.convert(whole, ELEMENTS[OperandCode(target.code)].get_type_name()), target, "stored")
