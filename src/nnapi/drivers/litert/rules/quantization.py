"""Conversions that LiteRT lacks or computes differently."""

from nnapi.codes import OperandCode
from nnapi.codes import OperationCode as Op
from nnapi.drivers.litert.context import Context, lower
from nnapi.drivers.litert.rules.convolution_filters import multiply_in_float, shape_along_axis
from nnapi.formats.tflite.graph import Tensor
from nnapi.lowering.refusal import require
from nnapi.lowering.tflite.context import SHIFT


@lower(Op.DEQUANTIZE)
def dequantize(context: Context, input: Tensor) -> Tensor:
    """Convert a constant during lowering: the engine would return uninitialized memory for it."""
    if input.data is not None:
        real = context.real(input)
        return context.reshape(real, real.shape, context.result())
    if isinstance(input.scale, float):
        return context.emit("DEQUANTIZE", [input])
    return multiply_in_float(context, input, shape_along_axis(input.scale, input.axis, len(input.shape)))


@lower(Op.CAST)
def cast(context: Context, input: Tensor) -> Tensor:
    """Cast to float16 and back to float32, so that values are rounded to float16. Graphs compute float16 in float32."""
    out, half = context.result(), OperandCode.TENSOR_FLOAT16
    if context.call.results[0].code != half or context.type("input").code == half:
        return _number(context, input, out)
    number = _number(context, input, out.like())
    return context.cast(context.cast(number, number.like(type="f16")), out)


def _number(context: Context, input: Tensor, out: Tensor) -> Tensor:
    if input.same_quantization(out):
        return context.reshape(input, out.shape, out)
    require(out.type != "i8", "the engine does not cast to quantized values")
    if input.type != "i8":
        return context.cast(input, out)
    if out.type == "f32" and (input.scale, input.zero_point) == (1.0, -SHIFT):
        return context.emit("DEQUANTIZE", [input], out)  # stored as plain unsigned integers
    plain = context.cast(input, out.like())
    return context.emit("ADD", [plain, context.fill(plain, SHIFT)], out, activation=0)  # they are unsigned in the model
