"""Convolutions: grouped, depthwise, transposed."""

from typing import Any

from nnapi.codes import OperationCode as Op
from nnapi.exporters.onnx.context import Context, lower
from nnapi.exporters.onnx.graph import Value
from nnapi.lowering.windows import separate_zeros
from nnapi.ops.shapes import Padding, Pair

CHANNELS_FIRST = (3, 0, 1, 2)


@lower(Op.CONV_2D, Op.GROUPED_CONV_2D)
def conv_2d(context: Context, input: Value, filter: Value, bias: Value, num_groups: int = 1, **window: Any) -> Value:
    return convolve(context, "Conv", input, context.to_nchw(filter), bias, group=num_groups, **window)


@lower(Op.DEPTHWISE_CONV_2D)
def depthwise_conv_2d(
    context: Context, input: Value, filter: Value, bias: Value, multiplier: int, **window: Any
) -> Value:
    transposed = context.transpose(filter, CHANNELS_FIRST)
    return convolve(context, "Conv", input, transposed, bias, group=input.shape[3], **window)


@lower(Op.TRANSPOSE_CONV_2D)
def transpose_conv_2d(
    context: Context, input: Value, filter: Value, bias: Value, padding: Padding, stride: Pair
) -> Value:
    zeros, padding = separate_zeros(padding, stride)
    surrounded, transposed = context.pad(input, [(0, 0), *zeros, (0, 0)], 0), context.transpose(filter, CHANNELS_FIRST)
    return convolve(context, "ConvTranspose", surrounded, transposed, bias, padding=padding, stride=stride)


def convolve(
    context: Context,
    kind: str,
    input: Value,
    filter: Value,
    bias: Value,
    *,
    stride: Pair,
    dilation: Pair = (1, 1),
    **others: Any,
) -> Value:
    weights = context.dequantize_weights(input, filter, bias)
    return context.on_image(
        kind,
        input,
        *weights,
        kernel_shape=list(filter.shape[2:]),
        strides=list(stride),
        dilations=list(dilation),
        **others,
    )
