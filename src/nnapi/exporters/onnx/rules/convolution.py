"""Convolutions of images and volumes: grouped, depthwise, transposed."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.exporters.onnx.context import OnnxContext, lower
from nnapi.exporters.onnx.graph import Value
from nnapi.lowering.refusal import require
from nnapi.lowering.windows import separate_zeros
from nnapi.model.operand import Array
from nnapi.operation_codes import CompositeCode as Composite
from nnapi.ops.shapes import Padding, Pair


@lower(Op.CONV_2D, Op.GROUPED_CONV_2D)
def conv_2d(
    context: OnnxContext, input: Value, filter: Value, bias: Value, num_groups: int = 1, **window: Any
) -> Value:
    return convolve(context, "Conv", input, context.to_nchw(filter), bias, group=num_groups, **window)


@lower(Op.DEPTHWISE_CONV_2D)
def depthwise_conv_2d(
    context: OnnxContext, input: Value, filter: Value, bias: Value, multiplier: int, **window: Any
) -> Value:
    return convolve(context, "Conv", input, _put_channels_first(context, filter), bias, group=input.shape[3], **window)


@lower(Op.TRANSPOSE_CONV_2D)
def transpose_conv_2d(
    context: OnnxContext, input: Value, filter: Value, bias: Value, padding: Padding, stride: Pair
) -> Value:
    zeros, padding = separate_zeros(padding, stride)
    surrounded, transposed = context.pad(input, [(0, 0), *zeros, (0, 0)], 0), _put_channels_first(context, filter)
    return convolve(context, "ConvTranspose", surrounded, transposed, bias, padding=padding, stride=stride)


@lower(Composite.CONV_3D)
def conv_3d(
    context: OnnxContext,
    input: Value,
    filter: Value,
    bias: Value,
    paddings: Array,
    strides: Array,
    dilations: Array,
    groups: int,
) -> Value:
    window = {"padding": paddings.tolist(), "stride": strides.tolist(), "dilation": dilations.tolist()}
    return convolve(context, "Conv", input, context.to_nchw(filter), bias, group=groups, **window)


@lower(Composite.TRANSPOSE_CONV_3D)
def transpose_conv_3d(
    context: OnnxContext, input: Value, filter: Value, bias: Value, paddings: Array, strides: Array
) -> Value:
    """Emit ConvTranspose, which appends the cells of a negative padding by another attribute."""
    added = np.maximum(0, -paddings[:, 1])
    require(bool((added < strides).all()), "ONNX appends fewer cells to a transposed convolution than its strides")
    window = {"padding": np.maximum(0, paddings).tolist(), "stride": strides.tolist(), "dilation": [1, 1, 1]}
    transposed = _put_channels_first(context, filter)
    return convolve(context, "ConvTranspose", input, transposed, bias, output_padding=added.tolist(), **window)


def convolve(
    context: OnnxContext,
    kind: str,
    input: Value,
    filter: Value,
    bias: Value,
    *,
    stride: Sequence[int],
    dilation: Sequence[int] = (1, 1),
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


def _put_channels_first(context: OnnxContext, filter: Value) -> Value:
    last = len(filter.shape) - 1
    return context.transpose(filter, (last, *range(last)))
