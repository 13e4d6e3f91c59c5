"""Conversion between float32 and quantized values, and between types."""

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.formats.tflite.graph import Tensor
from nnapi.lowering.refusal import require
from nnapi.lowering.tflite.context import TfliteContext, lower
from nnapi.operation_codes import CompositeCode as Composite
from nnapi.ops.signature_types import FLOAT16


@lower(Op.QUANTIZE, Op.DEQUANTIZE)
def quantize_or_dequantize(context: TfliteContext, input: Tensor) -> Tensor:
    return context.emit(context.kind, [input])


@lower(Op.CAST)
def cast(context: TfliteContext, input: Tensor) -> Tensor:
    """Clamp int32 to the range of unsigned bytes, as NNAPI does; TensorFlow Lite drops the higher bits."""
    out = context.result()
    if input.same_quantization(out):
        return context.reshape(input, out.shape, out)
    require("i8" not in (input.type, out.type), "TensorFlow Lite casts signed bytes in another way")
    if (input.type, out.type) == ("i32", "u8"):
        limits = np.iinfo(np.uint8)
        for kind, limit in (("MAXIMUM", limits.min), ("MINIMUM", limits.max)):
            input = context.emit(kind, [input, context.fill(input, limit)], input.like())
    return context.cast(input, out)


@lower(Composite.CONVERT)
def convert(context: TfliteContext, input: Tensor) -> Tensor:
    out = context.result()
    return context.reshape(input, out.shape, out) if input.same_quantization(out) else context.cast(input, out)


@lower(Composite.BITCAST)
def bitcast(context: TfliteContext, input: Tensor) -> Tensor:
    is_half = FLOAT16 in (context.call.arguments["input"].code, context.call.results[0].code)
    require(not is_half, "TensorFlow Lite has no integers of 16 bits that NNAPI has")
    return context.emit("BITCAST", [input])
