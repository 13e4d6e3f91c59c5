"""Between numbers and codes, and between types."""

from __future__ import annotations

from nnapi.codes import OperandCode
from nnapi.codes import OperationCode as Op
from nnapi.drivers.xnnpack.context import SHIFT, Context, lower
from nnapi.drivers.xnnpack.rules.filters import along, times
from nnapi.formats.tflite.graph import Tensor, constant
from nnapi.formats.tflite.schema import ELEMENTS
from nnapi.lowering.lower import require


@lower(Op.QUANTIZE)
def quantize(context: Context, input: Tensor) -> Tensor:
    return context.emit("QUANTIZE", [input], context.result())


@lower(Op.DEQUANTIZE)
def dequantize(context: Context, input: Tensor) -> Tensor:
    """Stored codes become stored numbers, which are copied: the engine gives whatever was in memory for them."""
    if input.data is not None:
        numbers = context.real(input)
        return context.emit("RESHAPE", [numbers, constant(numbers.shape)], context.result())
    if isinstance(input.scale, float):
        return context.emit("DEQUANTIZE", [input], context.result())
    return times(context, input, along(input.scale, input.axis, len(input.shape)))


@lower(Op.CAST)
def cast(context: Context, input: Tensor) -> Tensor:
    """To float16 by way of float16, which is held as float32 everywhere else: this operation is asked to round."""
    out = context.result()
    if (
        context.call.results[0].code == OperandCode.TENSOR_FLOAT16
        and context.type("input").code != OperandCode.TENSOR_FLOAT16
    ):
        return _round(context, _number(context, input, out.like()), out)
    return _number(context, input, out)


def _round(context: Context, number: Tensor, out: Tensor) -> Tensor:
    rounded = context.emit("CAST", [number], number.like(type="f16"), source=ELEMENTS["f32"], target=ELEMENTS["f16"])
    return context.emit("CAST", [rounded], out, source=ELEMENTS["f16"], target=ELEMENTS["f32"])


def _number(context: Context, input: Tensor, out: Tensor) -> Tensor:
    if input.same_codes(out):
        return context.emit("RESHAPE", [input, constant(out.shape)], out)
    require(out.type != "i8", "the engine does not cast numbers to codes")
    if input.type != "i8":
        return context.emit("CAST", [input], out, source=ELEMENTS[input.type], target=ELEMENTS[out.type])
    if out.type == "f32" and (input.scale, input.zero_point) == (1.0, -SHIFT):
        return context.emit("DEQUANTIZE", [input], out)  # the numbers are the codes
    plain = context.emit("CAST", [input], out.like(), source=ELEMENTS["i8"], target=ELEMENTS[out.type])
    return context.emit(
        "ADD", [plain, context.fill(plain, SHIFT)], out, activation=0
    )  # codes are unsigned in the model
