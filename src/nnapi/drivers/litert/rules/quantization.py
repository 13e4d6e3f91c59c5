"""Conversions that LiteRT lacks or computes differently."""

from nnapi.codes import OperandCode
from nnapi.codes import OperationCode as Op
from nnapi.drivers.litert.context import UNSIGNED, LitertContext, lower
from nnapi.drivers.litert.rules.convolution_filters import multiply_in_float, shape_along_axis
from nnapi.formats.tflite.graph import Tensor
from nnapi.lowering.refusal import require
from nnapi.lowering.tflite.context import SHIFT
from nnapi.operation_codes import CompositeCode as Composite


@lower(Op.DEQUANTIZE)
def dequantize(context: LitertContext, input: Tensor) -> Tensor:
    """Convert a constant during lowering: the engine would return uninitialized memory for it."""
    if input.data is not None:
        real = context.real(input)
        return context.reshape(real, real.shape, context.result())
    if isinstance(input.scale, float):
        return context.emit("DEQUANTIZE", [input])
    return multiply_in_float(context, input, shape_along_axis(input.scale, input.axis, len(input.shape)))


@lower(Op.CAST)
def cast(context: LitertContext, input: Tensor) -> Tensor:
    """Cast to float16 and back to float32, so that values are rounded to float16. Graphs compute float16 in float32."""
    out, half = context.result(), OperandCode.TENSOR_FLOAT16
    if context.call.results[0].code != half or context.type("input").code == half:
        return _number(context, input, out)
    number = _number(context, input, out.like())
    return context.cast(context.cast(number, number.like(type="f16")), out)


@lower(Composite.QUANTIZE_TO_EVEN)
def quantize_to_even(context: LitertContext, input: Tensor) -> Tensor:
    return context.emit("QUANTIZE", [input])


@lower(Composite.CONVERT)
def convert(context: LitertContext, input: Tensor) -> Tensor:
    """Convert stored values, which the graph has as signed bytes where the model has unsigned ones.

    A boolean that callers give may be any byte, which the engine would convert to this number instead of 1; only a cast
    to float32 makes it 1.
    """
    source, target, out = context.type("input"), context.call.results[0], context.result()
    if target.code == OperandCode.TENSOR_BOOL8 != source.code:
        require(source.code not in UNSIGNED, "the engine's bytes are signed, and -128 is false")
        return context.cast(input, out)
    if source.code == OperandCode.TENSOR_BOOL8 != target.code:
        require(out.type != "i8", "the engine's bytes are signed, and 0 is -128")
        is_given = out.type == "i32" and input.origin is None
        return context.cast(context.cast(input, out.like(type="f32")) if is_given else input, out)
    if out.type != "i8" or source.code == target.code:
        is_signed = input.type == "i8" and source.code not in UNSIGNED and source.code != target.code
        return context.cast(input, out) if is_signed else cast(context, input)
    return _to_bytes(context, input, out)


def _to_bytes(context: LitertContext, input: Tensor, out: Tensor) -> Tensor:
    """Convert to bytes: the engine clamps floats, and keeps the lowest bits of integers."""
    shift = SHIFT if context.call.results[0].code in UNSIGNED else 0
    given = SHIFT if context.type("input").code in UNSIGNED else 0
    if shift == 0 and given == 0:
        return context.cast(input, out)
    whole = input if input.type == "i32" else context.cast(input, input.like(type="i32", scale=0.0, zero_point=0))
    if input.type == "f32":
        for kind, limit in (("MAXIMUM", 0), ("MINIMUM", 2 * SHIFT - 1)):
            whole = context.emit(kind, [whole, context.fill(whole, limit)], whole.like())
    moved = context.emit("ADD", [whole, context.fill(whole, given - shift)], whole.like(), activation=0)
    return context.cast(moved, out)


def _number(context: LitertContext, input: Tensor, out: Tensor) -> Tensor:
    if input.same_quantization(out):
        return context.reshape(input, out.shape, out)
    require(out.type != "i8", "the engine does not cast to quantized values")
    if input.type != "i8":
        return context.cast(input, out)
    if out.type == "f32" and (input.scale, input.zero_point) == (1.0, -SHIFT):
        return context.emit("DEQUANTIZE", [input], out)  # stored as plain unsigned integers
    plain = context.cast(input, out.like())
    return context.emit("ADD", [plain, context.fill(plain, SHIFT)], out, activation=0)  # they are unsigned in the model
