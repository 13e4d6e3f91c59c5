"""Convert between float32 and quantized values, and between types."""

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.exporters.onnx.context import OnnxContext, lower
from nnapi.exporters.onnx.graph import Value, constant
from nnapi.operation_codes import CompositeCode as Composite
from nnapi.ops.quantized_values import AWAY


@lower(Op.QUANTIZE)
def quantize(context: OnnxContext, input: Value) -> Value:
    """Move halves away from zero, as NNAPI rounds them: ONNX rounds them to even. Decompositions quantize integers."""
    if context.is_part:
        return context.store(input)
    x = context.cast(input, np.float32)
    return context.store(context.emit("Mul", [x, constant(AWAY, np.float32)], x.like()))


@lower(Composite.QUANTIZE_TO_EVEN)
def quantize_to_even(context: OnnxContext, input: Value) -> Value:
    return context.store(input)


@lower(Op.DEQUANTIZE)
def dequantize(context: OnnxContext, input: Value) -> Value:
    return context.cast(context.real(input), context.result().element)


@lower(Composite.CONVERT)
def convert(context: OnnxContext, input: Value) -> Value:
    """Emit a Cast of stored values, which keeps the lowest bits of integers. What it gives for floats out of range is
    not defined, so they are clamped."""
    out = context.result()
    if input.element == out.element:
        return context.emit("Identity", [input], out)
    if input.element.kind == "f" and out.element.kind in "iu":
        return cast(context, input)
    return context.emit("Cast", [input], out, to=out.element)


@lower(Op.CAST)
def cast(context: OnnxContext, input: Value) -> Value:
    """Emit a Cast of stored values; values outside the range of a byte saturate."""
    out = context.result()
    if input.element == out.element:
        return context.emit("Identity", [input], out)
    if out.element.itemsize == 1:
        limits = np.iinfo(out.element)
        wide = context.cast(input, np.float32) if input.element == np.float16 else input
        input = context.clip(wide, limits.min, limits.max)
    return context.emit("Cast", [input], out, to=out.element)
