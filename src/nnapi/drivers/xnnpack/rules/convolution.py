"""Convolutions, FULLY_CONNECTED, BATCH_MATMUL: sums of products."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nnapi.codes import OperandCode
from nnapi.codes import OperationCode as Op
from nnapi.drivers.xnnpack.graph import Tensor, constant
from nnapi.drivers.xnnpack.lowering import lower
from nnapi.drivers.xnnpack.schema import SAME, VALID
from nnapi.drivers.xnnpack.site import SHIFT, Refused, Site, need
from nnapi.model.operand import Array, OperandType
from nnapi.ops.shapes import Padding, Pair, same_padding

LARGEST_WEIGHT = 127
"""Signed filters leave -128 out, so that the engine's sums of pairs of products cannot overflow anywhere."""
SMALLEST_FACTOR, LARGEST_FACTOR = 2.0**-60, 255.0
"""What a sum of products may be multiplied by to become a code."""


@lower(Op.CONV_2D)
def conv_2d(
    site: Site, input: Tensor, filter: OperandType, bias: OperandType, padding: Padding, stride: Pair, dilation: Pair
) -> Tensor:
    x, scheme = in_scheme(site, input, padding, filter.shape[1:3], stride, dilation)
    w = signed_weights(site, "filter", 0)
    return site.emit(
        "CONV_2D", [x, w, offsets(site, w, "filter")], site.result(), padding=scheme,
        stride_h=stride[0], stride_w=stride[1], dilation_h=dilation[0], dilation_w=dilation[1],
        activation=site.activation,
    )  # fmt: skip


@lower(Op.GROUPED_CONV_2D)
def grouped_conv_2d(
    site: Site,
    input: Tensor,
    filter: OperandType,
    bias: OperandType,
    padding: Padding,
    stride: Pair,
    dilation: Pair,
    num_groups: int,
) -> Tensor:
    """The engine sees the groups by the filter's depth."""
    return conv_2d(site, input, filter, bias, padding, stride, dilation)


@lower(Op.DEPTHWISE_CONV_2D)
def depthwise_conv_2d(
    site: Site,
    input: Tensor,
    filter: OperandType,
    bias: OperandType,
    padding: Padding,
    stride: Pair,
    dilation: Pair,
    multiplier: int,
) -> Tensor:
    x, scheme = in_scheme(site, input, padding, filter.shape[1:3], stride, dilation)
    w = signed_weights(site, "filter", 3)
    return site.emit(
        "DEPTHWISE_CONV_2D", [x, w, offsets(site, w, "filter")], site.result(), padding=scheme,
        stride_h=stride[0], stride_w=stride[1], dilation_h=dilation[0], dilation_w=dilation[1],
        multiplier=multiplier, activation=site.activation,
    )  # fmt: skip


@lower(Op.TRANSPOSE_CONV_2D)
def transpose_conv_2d(
    site: Site, input: Tensor, filter: OperandType, bias: OperandType, padding: Padding, stride: Pair
) -> Tensor:
    """The whole result, then without its border where that is not the engine's own padding."""
    out = site.result()
    size, extents = filter.shape[1:3], out.shape[1:3]
    need(min(map(min, padding)) >= 0, f"padding {padding} leaves cells that no filter reaches")
    same = tuple(same_padding(e, k, s) for e, k, s in zip(extents, size, stride, strict=True))
    fits = all(i == -(-e // s) for i, e, s in zip(input.shape[1:3], extents, stride, strict=True))
    whole = out
    if not any(map(any, padding)):
        scheme = VALID
    elif tuple(padding) == same and fits:
        scheme = SAME
    else:
        scheme = VALID
        bordered = [e + sum(pair) for e, pair in zip(extents, padding, strict=True)]
        whole = out.like(shape=(out.shape[0], *bordered, out.shape[3]))
    w = signed_weights(site, "filter", 0)
    site.emit(
        "TRANSPOSE_CONV", [constant(whole.shape), w, input, offsets(site, w, "filter")], whole,
        padding=scheme, stride_h=stride[0], stride_w=stride[1], activation=site.activation,
    )  # fmt: skip
    if whole is out:
        return out
    begin = (0, padding[0][0], padding[1][0], 0)
    return site.emit("SLICE", [whole, constant(begin), constant(out.shape)], out)


@lower(Op.FULLY_CONNECTED)
def fully_connected(site: Site, input: Tensor, weights: OperandType, bias: OperandType) -> Tensor:
    out = site.result()
    x = site.reshaped(input, (out.shape[0], weights.shape[1]))
    w = signed_weights(site, "weights", 0)
    return site.emit("FULLY_CONNECTED", [x, w, offsets(site, w, "weights")], out, activation=site.activation)


@lower(Op.BATCH_MATMUL)
def batch_matmul(site: Site, lhs: Tensor, rhs: Tensor, adj_x: bool, adj_y: bool) -> Tensor:
    need(lhs.type != "i32", "the engine multiplies no matrices of TENSOR_INT32")
    product = site.real_result()
    site.emit("BATCH_MATMUL", [site.real(lhs), site.real(rhs)], product, adj_x=adj_x, adj_y=adj_y)
    return site.stored(product)


def in_scheme(
    site: Site, x: Tensor, padding: Padding, size: Sequence[int], stride: Pair, dilation: Pair
) -> tuple[Tensor, int]:
    """The input, padded where it must be, and the engine's scheme for the rest."""
    if not any(map(any, padding)):
        return x, VALID
    if tuple(padding) == same(x, size, stride, dilation):
        return x, SAME
    return site.padded(x, [(0, 0), *padding, (0, 0)]), VALID


def same(x: Tensor, size: Sequence[int], stride: Pair, dilation: Pair = (1, 1)) -> Padding:
    """The padding that the engine's SAME means."""
    (top, left) = (same_padding(*each) for each in zip(x.shape[1:3], size, stride, dilation, strict=True))
    return top, left


def signed_weights(site: Site, name: str, channel: int) -> Tensor:
    """A filter as the engine is given it.

    A quantised one is signed and symmetric, each channel with a scale of its own, where its numbers allow; where they
    do not it keeps unsigned codes and a zero point, for :mod:`narrow` to resolve.
    """
    type = site.type(name)
    if not type.is_quantized:
        return site.stored_tensor(name)
    codes = site.value(name)
    if type.channel:
        scales = np.array(type.channel.scales, np.float32)
        return Tensor("i8", type.dimensions, scales, axis=type.channel.dimension, data=codes, name=name)
    scales = np.full(type.dimensions[channel], type.scale, np.float32)
    low, high = int(codes.min()), int(codes.max())
    if high - type.zero_point <= LARGEST_WEIGHT and low - type.zero_point >= -LARGEST_WEIGHT:
        differences = np.subtract(codes.view(np.uint8), np.uint8(type.zero_point & 255)).view(np.int8)
        return Tensor("i8", type.dimensions, scales, axis=channel, data=differences, name=name)
    return _unsigned(type, codes, channel, name)


def _unsigned(type: OperandType, codes: Array, channel: int, name: str) -> Tensor:
    zero_point = type.zero_point
    if type.code == OperandCode.TENSOR_QUANT8_ASYMM_SIGNED:
        codes, zero_point = np.bitwise_xor(codes.view(np.uint8), np.uint8(SHIFT)), zero_point + SHIFT
    return Tensor("u8", type.dimensions, type.scale, zero_point, channel, codes, name)


def offsets(site: Site, filter: Tensor, name: str) -> Tensor:
    """The bias, in units of the products of input and the filter, which is the tensor of the argument ``name``."""
    input, out = site.type("input"), site.call.results[0]
    if not input.is_quantized:
        return site.stored_tensor("bias")
    bias = site.value("bias")
    scales = filter.scale if site.type(name).channel else site.type(name).scale
    low, high = (scales, scales) if isinstance(scales, float) else (float(scales.min()), float(scales.max()))
    low, high = low * input.scale / out.scale, high * input.scale / out.scale
    if not (low >= SMALLEST_FACTOR and high <= LARGEST_FACTOR):
        raise Refused(
            f"sums of products would be multiplied by {low:g} to {high:g}, "
            f"the engine takes {SMALLEST_FACTOR:g} to {LARGEST_FACTOR:g}"
        )
    units: float | Array
    if isinstance(scales, float):
        unit = scales * input.scale
        units = np.full(bias.shape, unit, np.float32) if filter.type == "i8" else unit
    else:
        units = np.multiply(scales, input.scale, dtype=np.float64).astype(np.float32)
    return Tensor("i32", bias.shape, units, data=bias, name="bias")
