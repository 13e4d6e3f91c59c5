"""Convolutions: grouped, depthwise, transposed."""

from typing import Any

from nnapi.codes import OperationCode as Op
from nnapi.formats.tflite.graph import Tensor, constant
from nnapi.formats.tflite.options import convolution_options, stride_options
from nnapi.formats.tflite.schema import SAME, VALID
from nnapi.lowering.tflite.context import TfliteContext, image_paddings, lower
from nnapi.lowering.windows import separate_zeros
from nnapi.model.operand import OperandType
from nnapi.ops.shapes import NO_PADDING, Padding, Pair, same_padding


@lower(Op.CONV_2D, Op.GROUPED_CONV_2D, Op.DEPTHWISE_CONV_2D)
def convolve(
    context: TfliteContext,
    input: Tensor,
    filter: OperandType,
    padding: Padding,
    stride: Pair,
    dilation: Pair,
    multiplier: int = 0,
    **_: Any,
) -> Tensor:
    """Pad the image if neither SAME nor VALID fits. TensorFlow Lite infers groups from the filter's depth."""
    scheme, stride, dilation = context.fit_windows(input, filter.shape[1:3], padding, stride, dilation)
    if scheme is None:
        input, scheme = context.pad(input, image_paddings(padding)), VALID
    options = convolution_options(scheme, stride, dilation)
    if not multiplier:
        return context.sum_products("CONV_2D", input, "filter", 0, context.result(), **options)
    options["multiplier"] = multiplier
    return context.sum_products("DEPTHWISE_CONV_2D", input, "filter", 3, context.result(), **options)


@lower(Op.TRANSPOSE_CONV_2D)
def transpose_conv_2d(
    context: TfliteContext, input: Tensor, filter: OperandType, bias: OperandType, padding: Padding, stride: Pair
) -> Tensor:
    """Compute the whole result and slice off its border if no scheme fits. Negative padding pads the input, unless it
    is less than a stride after the image: then the output shape says it."""
    out, size = context.result(), filter.shape[1:3]
    is_short = all(not before and -step < after <= 0 for (before, after), step in zip(padding, stride, strict=True))
    zeros, padding = (NO_PADDING, NO_PADDING) if is_short else separate_zeros(padding, stride)
    x = context.pad(input, image_paddings(zeros))
    image, result = x.shape[1:3], out.shape[1:3]
    same = tuple(same_padding(e, k, s) for e, k, s in zip(result, size, stride, strict=True))
    fits = all(i == -(-e // s) for i, e, s in zip(image, result, stride, strict=True))
    whole, scheme = out, VALID
    if any(map(any, padding)):
        if tuple(map(tuple, padding)) == same and fits:
            scheme = SAME
        else:
            bordered = [e + sum(pair) for e, pair in zip(result, padding, strict=True)]
            whole = out.like(shape=(out.shape[0], *bordered, out.shape[3]))
    # with one row or column there is no distance to keep
    down, across = (s if i > 1 else min(s, e) for s, i, e in zip(stride, image, result, strict=True))
    context.sum_products("TRANSPOSE_CONV", x, "filter", 0, whole, **stride_options(scheme, (down, across)))
    if whole is out:
        return out
    begin = (0, padding[0][0], padding[1][0], 0)
    return context.emit("SLICE", [whole, constant(begin), constant(out.shape)], out)
