"""Convolutions, FULLY_CONNECTED, BATCH_MATMUL: sums of products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nnapi.codes import OperationCode as Op
from nnapi.drivers.windows import limit_steps, too_wide
from nnapi.drivers.xnnpack.context import Context, lower
from nnapi.drivers.xnnpack.rules.filters import find_code_filter, make_constant_filter, read_computed_filter
from nnapi.formats.tflite.graph import Tensor, constant
from nnapi.formats.tflite.operators import facts
from nnapi.formats.tflite.options import convolution_options, stride_options
from nnapi.formats.tflite.schema import SAME, VALID
from nnapi.lowering.lower import require
from nnapi.model.operand import OperandType
from nnapi.ops.shapes import NO_PADDING, Padding, Pair, same_padding

LONGEST_STEP = 2**15 - 1
"""The largest stride of a transposed convolution that the engine takes."""


@lower(Op.CONV_2D, Op.GROUPED_CONV_2D)
def conv_2d(
    context: Context,
    input: Tensor,
    filter: OperandType,
    bias: OperandType,
    padding: Padding,
    stride: Pair,
    dilation: Pair,
    num_groups: int = 1,
) -> Tensor:
    """The engine sees the groups by the filter's depth."""
    x, options = in_scheme(context, input, padding, filter.shape[1:3], stride, dilation)
    return _sum(context, "CONV_2D", x, "filter", 0, context.result(), **options)


@lower(Op.DEPTHWISE_CONV_2D)
def depthwise_conv_2d(
    context: Context,
    input: Tensor,
    filter: OperandType,
    bias: OperandType,
    padding: Padding,
    stride: Pair,
    dilation: Pair,
    multiplier: int,
) -> Tensor:
    x, options = in_scheme(context, input, padding, filter.shape[1:3], stride, dilation)
    return _sum(context, "DEPTHWISE_CONV_2D", x, "filter", 3, context.result(), **options, multiplier=multiplier)


@lower(Op.TRANSPOSE_CONV_2D)
def transpose_conv_2d(
    context: Context, input: Tensor, filter: OperandType, bias: OperandType, padding: Padding, stride: Pair
) -> Tensor:
    """The whole result, then without its border where that is not the engine's own padding."""
    out = context.result()
    size, dimensions = filter.shape[1:3], out.shape[1:3]
    down, across = (s if i > 1 else min(s, e) for s, i, e in zip(stride, input.shape[1:3], dimensions, strict=True))
    stride = down, across  # of one cell there is no next one
    require(not too_wide(padding), too_wide(padding))
    require(max(stride) <= LONGEST_STEP, f"the stride is {max(stride)}, the engine takes at most {LONGEST_STEP}")
    require(min(map(min, padding)) >= 0, f"padding {padding} leaves cells that no filter reaches")
    same = tuple(same_padding(e, k, s) for e, k, s in zip(dimensions, size, stride, strict=True))
    fits = all(i == -(-e // s) for i, e, s in zip(input.shape[1:3], dimensions, stride, strict=True))
    whole = out
    if not any(map(any, padding)):
        scheme = VALID
    elif tuple(padding) == same and fits:
        scheme = SAME
    else:
        scheme = VALID
        bordered = [e + sum(pair) for e, pair in zip(dimensions, padding, strict=True)]
        whole = out.like(shape=(out.shape[0], *bordered, out.shape[3]))
    _sum(context, "TRANSPOSE_CONV", input, "filter", 0, whole, **stride_options(scheme, stride))
    if whole is out:
        return out
    begin = (0, padding[0][0], padding[1][0], 0)
    return context.emit("SLICE", [whole, constant(begin), constant(out.shape)], out)


@lower(Op.FULLY_CONNECTED)
def fully_connected(context: Context, input: Tensor, weights: OperandType, bias: OperandType) -> Tensor:
    out = context.result()
    x = context.reshape(input, (out.shape[0], weights.shape[1]))
    is_float = not (weights.is_quantized or context.find_codes("weights"))
    if is_float and context.is_computed("weights"):
        return _multiply(context, x, out)
    return _sum(context, "FULLY_CONNECTED", x, "weights", 0, out)


def _multiply(context: Context, x: Tensor, out: Tensor) -> Tensor:
    """By computed weights, as matrices: the engine's own gives the largest float where a sum is infinite."""
    sums = context.emit("BATCH_MATMUL", [x, context.stored_tensor("weights")], out.like(), adj_x=False, adj_y=True)
    return context.emit("ADD", [sums, context.stored_tensor("bias")], out, activation=context.activation)


@lower(Op.BATCH_MATMUL)
def batch_matmul(context: Context, lhs: Tensor, rhs: Tensor, adj_x: bool, adj_y: bool) -> Tensor:
    require(lhs.type != "i32", "the engine multiplies no matrices of TENSOR_INT32")
    product = context.real_result()
    context.emit("BATCH_MATMUL", [context.real(lhs), context.real(rhs)], product, adj_x=adj_x, adj_y=adj_y)
    return context.store(product)


def in_scheme(
    context: Context, x: Tensor, padding: Padding, size: Sequence[int], stride: Pair, dilation: Pair
) -> tuple[Tensor, dict[str, Any]]:
    """The input, padded where it must be, and the options that say the rest to the engine."""
    require(not too_wide(padding), too_wide(padding))
    stride, dilation = limit_steps((x.shape[1], x.shape[2]), (size[0], size[1]), stride, padding, dilation)
    is_same = padding != NO_PADDING and tuple(padding) == same(x, size, stride, dilation)
    if padding != NO_PADDING and not is_same:
        x = context.pad(x, [(0, 0), *padding, (0, 0)])
    return x, convolution_options(SAME if is_same else VALID, stride, dilation)


def same(x: Tensor, size: Sequence[int], stride: Pair, dilation: Pair = (1, 1)) -> Padding:
    """The padding that the engine's SAME means."""
    (top, left) = (same_padding(*each) for each in zip(x.shape[1:3], size, stride, dilation, strict=True))
    return top, left


def _sum(context: Context, kind: str, x: Tensor, name: str, channel: int, out: Tensor, **options: Any) -> Tensor:
    """The operator on ``x``, the filter that is the argument ``name`` with its units along the axis ``channel``, and
    the bias. The engine takes computed filters in float32 only."""
    codes = find_code_filter(context, name, channel) if facts(kind).weights and x.type == "f32" else None
    if codes is not None and codes.shape[-1] == x.shape[-1]:  # of one group
        return context.emit(
            kind, [x, codes, context.stored_tensor("bias")], out, activation=context.activation, **options
        )
    in_float = context.type(name).is_quantized and context.is_computed(name)
    if in_float:
        x, w, b = context.real(x), *read_computed_filter(context, name, channel)
    else:
        w, b = make_constant_filter(context, name, channel)
    inputs = [constant(out.shape), w, x, b] if kind == "TRANSPOSE_CONV" else [x, w, b]
    if not in_float:
        return context.emit(kind, inputs, out, activation=context.activation, **options)
    real = out.like(type="f32", scale=0.0, zero_point=0)
    context.emit(kind, inputs, real, activation=context.activation, **options)
    return context.emit("QUANTIZE", [real], out)
