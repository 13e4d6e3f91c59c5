"""Sums of products: convolutions, FULLY_CONNECTED, BATCH_MATMUL."""

from __future__ import annotations

from typing import Any

from nnapi.codes import OperationCode as Op
from nnapi.exporters import cells
from nnapi.exporters.tflite.context import Context, lower
from nnapi.exporters.tflite.rules.images import in_scheme, pad
from nnapi.exporters.transposed_convolution import surround
from nnapi.formats.tflite.graph import Tensor, constant
from nnapi.formats.tflite.options import convolution_options, stride_options
from nnapi.formats.tflite.schema import VALID
from nnapi.lowering.lower import require
from nnapi.ops.shapes import Padding, Pair


def _bias(input: Tensor, filter: Tensor, bias: Tensor) -> Tensor:
    """The bias of a quantised filter with the scales that follow from input and filter."""
    if not isinstance(filter.scale, float):
        return bias.like(scale=filter.scale * input.unit, axis=0, data=bias.data)
    return bias


def _in_one_sign(context: Context, input: Tensor, filter: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Input and filter with codes of one sign, and a tensor for the result: TFLite's signed filters have zero points
    of 0, and its unsigned ones one scale."""
    if not filter.is_quantized:
        return input, filter, context.result()
    per_channel = not isinstance(filter.scale, float)
    require(filter.is_constant or not per_channel, "its filter is computed and has a scale per channel")
    type = "i8" if filter.type == "i8" and not filter.zero_point else "u8"
    return context.turn(input, type), context.turn(filter, type), context.turned_result(type)


@lower(Op.CONV_2D, Op.GROUPED_CONV_2D)
def conv_2d(
    context: Context,
    input: Tensor,
    filter: Tensor,
    bias: Tensor,
    padding: Padding,
    stride: Pair,
    dilation: Pair,
    num_groups: int = 1,
) -> Tensor:
    """TFLite sees the groups by the filter's depth."""
    return _convolve(context, "CONV_2D", input, filter, bias, padding, stride, dilation)


@lower(Op.DEPTHWISE_CONV_2D)
def depthwise_conv_2d(
    context: Context,
    input: Tensor,
    filter: Tensor,
    bias: Tensor,
    padding: Padding,
    stride: Pair,
    dilation: Pair,
    multiplier: int,
) -> Tensor:
    parameters = (padding, stride, dilation)
    return _convolve(context, "DEPTHWISE_CONV_2D", input, filter, bias, *parameters, multiplier=multiplier)


def _convolve(
    context: Context,
    kind: str,
    input: Tensor,
    filter: Tensor,
    bias: Tensor,
    padding: Padding,
    stride: Pair,
    dilation: Pair,
    **options: Any,
) -> Tensor:
    x, weights, out = _in_one_sign(context, input, filter)
    x, scheme = in_scheme(context, x, filter.shape[1:3], padding, stride, dilation)
    options |= convolution_options(scheme, stride, dilation)
    inputs = [x, weights, _bias(input, filter, bias)]
    return context.turn_back(context.emit(kind, inputs, out, **options, activation=context.activation))


@lower(Op.TRANSPOSE_CONV_2D)
def transpose_conv_2d(
    context: Context, input: Tensor, filter: Tensor, bias: Tensor, padding: Padding, stride: Pair
) -> Tensor:
    """The whole result, of which what NNAPI pads away is sliced off."""
    require(filter.is_constant or not filter.is_quantized, "its filter is computed and quantised")
    x, weights, out = _in_one_sign(context, input, filter)
    zeros, padding = surround(padding, stride)
    if any(map(any, zeros)):
        x = pad(context, x, zeros, None)
    _, height, width, _ = x.shape
    sizes = filter.shape[1:3]
    full = tuple((n - 1) * step + size for n, step, size in zip((height, width), stride, sizes, strict=True))
    (top, _), (left, _) = padding
    whole = (out.shape[0], *full, out.shape[3])
    made = out if whole == out.shape else out.like(shape=whole)
    context.emit(
        "TRANSPOSE_CONV",
        [constant(whole), weights, x, _bias(input, filter, bias)],
        made,
        **stride_options(VALID, stride),
        activation=context.activation,
    )
    if made is not out:
        context.emit("SLICE", [made, constant([0, top, left, 0]), constant(out.shape)], out)
    return context.turn_back(out)


@lower(Op.FULLY_CONNECTED)
def fully_connected(context: Context, input: Tensor, weights: Tensor, bias: Tensor) -> Tensor:
    x, turned, out = _in_one_sign(context, input, weights)
    inputs = [x, turned, _bias(input, weights, bias)]
    return context.turn_back(context.emit("FULLY_CONNECTED", inputs, out, activation=context.activation))


@lower(Op.BATCH_MATMUL)
def batch_matmul(context: Context, lhs: Tensor, rhs: Tensor, adj_x: bool, adj_y: bool) -> Tensor:
    if lhs.type == "i32":
        return _multiply_integers(context, _swap(context, lhs, adj_x), _swap(context, rhs, adj_y))
    return context.emit("BATCH_MATMUL", [lhs, rhs], adj_x=bool(adj_x), adj_y=bool(adj_y))


def _multiply_integers(context: Context, lhs: Tensor, rhs: Tensor) -> Tensor:
    """Written out: TFLite multiplies no matrices of 32 bits. Columns of one times rows of the other, added up."""
    out, count = context.result(), lhs.shape[-1]
    require(count <= cells.MOST_STEPS, f"its {count} products of integers are too many to write out")
    start, total = [0] * (len(lhs.shape) - 1), None
    for place in range(count):
        column = context.cut(lhs, [*start, place], (*lhs.shape[:-1], 1))
        row = context.cut(rhs, [*start[1:], place, 0], (*rhs.shape[:-2], 1, rhs.shape[-1]))
        product = context.emit("MUL", [column, row], out.like(), activation=0)
        total = product if total is None else context.emit("ADD", [total, product], out.like(), activation=0)
    assert total is not None  # no dimension is 0
    return total


def _swap(context: Context, matrices: Tensor, is_adjoint: bool) -> Tensor:
    """Matrices with rows for columns, where they are given so."""
    rank = len(matrices.shape)
    return context.transpose(matrices, [*range(rank - 2), rank - 1, rank - 2]) if is_adjoint else matrices
