"""Sums of products: convolutions, FULLY_CONNECTED, BATCH_MATMUL."""

from __future__ import annotations

from typing import Any

from nnapi.codes import OperandCode
from nnapi.codes import OperationCode as Op
from nnapi.exporters.onnx.context import Context, lower
from nnapi.exporters.onnx.graph import Value
from nnapi.exporters.onnx.rules.images import pads_of
from nnapi.lowering.transposed_convolution import surround
from nnapi.model.operand import ChannelQuantization, OperandType
from nnapi.ops.shapes import Padding, Pair


def _bias(context: Context, bias: Value, input: Value, filter: Value) -> Value:
    """Dequantize a bias, whose scale is the product of the scales of input and filter."""
    if input.codes is None or filter.codes is None:
        return bias
    channel = filter.codes.channel
    type = OperandType(OperandCode.TENSOR_INT32, bias.shape)
    if channel is None:
        type = type.replace(scale=input.codes.scale * filter.codes.scale)
    else:
        type = type.replace(channel=ChannelQuantization(0, tuple(s * input.codes.scale for s in channel.scales)))
    return context.dequantize_sums(bias, type)


def _filter(context: Context, filter: Value, axis: int) -> Value:
    """Dequantize a filter whose output channels lie along ``axis``."""
    return filter if filter.codes is None else context.dequantize(filter, filter.codes, axis)


@lower(Op.CONV_2D)
@lower(Op.GROUPED_CONV_2D)
def conv_2d(
    context: Context, input: Value, filter: Value, bias: Value, num_groups: int = 1, **window: tuple[Any, Any]
) -> Value:
    return _convolve(context, input, context.to_nchw(filter), bias, num_groups, **window)


@lower(Op.DEPTHWISE_CONV_2D)
def depthwise_conv_2d(
    context: Context, input: Value, filter: Value, bias: Value, multiplier: int, **window: tuple[Any, Any]
) -> Value:
    return _convolve(context, input, context.transpose(filter, (3, 0, 1, 2)), bias, input.shape[3], **window)


def _convolve(
    context: Context,
    input: Value,
    filter: Value,
    bias: Value,
    groups: int,
    padding: Padding,
    stride: Pair,
    dilation: Pair,
) -> Value:
    out = context.result()
    x = context.real(context.to_nchw(input))
    made = context.emit(
        "Conv",
        [x, _filter(context, filter, 0), _bias(context, bias, input, filter)],
        x.like([out.shape[axis] for axis in (0, 3, 1, 2)]),
        kernel_shape=list(filter.shape[2:]),
        strides=list(stride),
        dilations=list(dilation),
        pads=pads_of(padding),
        group=groups,
    )
    return context.to_nhwc(context.store(made))


@lower(Op.TRANSPOSE_CONV_2D)
def transpose_conv_2d(
    context: Context, input: Value, filter: Value, bias: Value, padding: Padding, stride: Pair
) -> Value:
    out = context.result()
    zeros, padding = surround(padding, stride)
    x = context.real(context.pad(context.to_nchw(input), [(0, 0), (0, 0), *zeros], 0))
    weights = context.transpose(filter, (3, 0, 1, 2))
    made = context.emit(
        "ConvTranspose",
        [x, _filter(context, weights, 1), _bias(context, bias, input, filter)],
        x.like([out.shape[axis] for axis in (0, 3, 1, 2)]),
        kernel_shape=list(weights.shape[2:]),
        strides=list(stride),
        pads=pads_of(padding),
    )
    return context.to_nhwc(context.store(made))


@lower(Op.FULLY_CONNECTED)
def fully_connected(context: Context, input: Value, weights: Value, bias: Value) -> Value:
    out = context.result()
    x = context.real(context.reshape(input, (out.shape[0], weights.shape[1])))
    made = context.emit(
        "Gemm", [x, _filter(context, weights, 0), _bias(context, bias, input, weights)], x.like(out.shape), transB=1
    )
    return context.store(made)


@lower(Op.BATCH_MATMUL)
def batch_matmul(context: Context, lhs: Value, rhs: Value, adj_x: bool, adj_y: bool) -> Value:
    rank = len(lhs.shape)
    swapped = [*range(rank - 2), rank - 1, rank - 2]
    pair = [context.transpose(value, swapped) if adjoint else value for value, adjoint in ((lhs, adj_x), (rhs, adj_y))]
    return context.compute("MatMul", *pair)
