"""Convolutions: products of the windows of an image with filters.

CONV_2D: cross-correlation of an image with a bank of filters. DEPTHWISE_CONV_2D: each channel of an image with filters
of its own. GROUPED_CONV_2D: a convolution for each group of channels. TRANSPOSE_CONV_2D: every cell of an image spreads
a filter over the result, stride by stride.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import as_strided

from nnapi.codes import OperandCode, OperationCode, PaddingCode
from nnapi.errors import BadDataError, OpFailedError, need
from nnapi.model.facts import Facts, Kind
from nnapi.model.operand import Array, OperandType, Shape, as_float32
from nnapi.model.operation import Arguments, Facet, Operation, Overload
from nnapi.model.parameter import REQUIRED, Activation, Layout, Scalar, Slot, Tensor, Values, positive
from nnapi.ops.shapes import (
    NO_PADDING,
    PAD_NAMES,
    Padding,
    Pair,
    describe_padding,
    explicit,
    need_image,
    slide,
    spatial,
    take_stride,
)
from nnapi.ops.types import BIAS, FILTER, QUANT8, reals
from nnapi.ops.windows import taps

INT32 = OperandCode.INT32
LARGEST = 1 << 32
"""Bytes of an image with its padding that are still made: paddings may be so large that no memory holds them."""
BLOCK = 2**19
"""Numbers of patches copied at a time."""


def _declare_filter(channel: int, level: int = 1, *, late_rank: bool = True) -> tuple[Slot, ...]:
    """Input, filter and bias; per-channel scales of the filter lie along ``channel``."""
    return (
        Tensor("input", reals(level), rank=4, late_rank=late_rank, image=True),
        Tensor("filter", like="input", via=FILTER, rank=4, late_rank=late_rank, channel=channel, since=level),
        Tensor("bias", like="input", via=BIAS, rank=1, late_rank=True, since=level),
    )


def explicit_padding(level: int = 1) -> tuple[Slot, ...]:
    return tuple(Scalar(name, INT32, since=level) for name in ("pad_left", "pad_right", "pad_top", "pad_bottom"))


def implicit_padding(level: int = 1) -> tuple[Slot, ...]:
    return (Scalar("padding_scheme", INT32, since=level),)


def strides(level: int = 1) -> tuple[Slot, ...]:
    return tuple(Scalar(name, INT32, since=level, check=positive) for name in ("stride_w", "stride_h"))


DILATION = tuple(Scalar(name, INT32, since=3, default=1, check=positive) for name in ("dilation_w", "dilation_h"))


def _normal(arguments: Arguments) -> Arguments:
    """Fill in padding, stride and dilation as (height, width) pairs."""
    arguments = dict(arguments)
    dilation = (arguments.pop("dilation_h", 1), arguments.pop("dilation_w", 1))
    size = arguments["filter"].shape[1:3]
    arguments = spatial(arguments, arguments["input"], size, dilation)
    arguments["dilation"] = dilation
    return arguments


def _declare_overloads(
    operands: Sequence[Slot], tail: Sequence[Slot], level: int = 1, lengths: Sequence[tuple[int, ...]] = ((), ())
) -> tuple[Overload, ...]:
    """The argument lists with explicit and with implicit padding; ``tail`` begins with the strides."""
    paddings = {"explicit_padding": explicit_padding(level), "implicit_padding": implicit_padding(level)}
    return tuple(
        Overload(name, (*operands, *padding, *tail), _normal, lengths=legal)
        for (name, padding), legal in zip(paddings.items(), lengths, strict=True)
    )


def check_bias(
    bias: OperandType, channels: int, input: OperandType, filter: OperandType, filter_name: str = "filter"
) -> None:
    """Raise OpFailedError unless the bias has ``channels`` elements in units of the product of the other scales."""
    if bias.dimensions != (channels,):
        raise OpFailedError(f"bias has shape {list(bias.shape)}, must be [{channels}]")
    if input.is_quantized and not filter.channel:
        product = as_float32(input.scale * filter.scale)
        if not abs(product - bias.scale) <= 1e-6 * min(product, bias.scale):
            raise OpFailedError(
                f"bias has scale {bias.scale:g}, must be input scale × {filter_name} scale = {product:g}"
            )


def scale_facet(input: OperandType, filter: OperandType, out: OperandType) -> list[Facet]:
    """Before level 3 the output scale had to be above the product of the input scales."""
    if input.code == QUANT8 and not filter.channel and out.scale <= as_float32(input.scale * filter.scale):
        return [Facet(3, "out has a scale not above input scale × filter scale")]
    return []


def pad_image(x: Array, padding: Padding) -> Array:
    """Surround an NHWC image with zeros."""
    (top, bottom), (left, right) = padding
    if not (top or bottom or left or right):
        return x
    n, h, w, c = x.shape
    size = n * (top + h + bottom) * (left + w + right) * c * x.itemsize
    need(size <= LARGEST, f"input with {describe_padding(padding)} would take {size} bytes, more than {LARGEST}")
    padded = np.empty((n, top + h + bottom, left + w + right, c), x.dtype)
    padded[:, :top] = padded[:, top + h :] = 0
    padded[:, :, :left] = padded[:, :, left + w :] = 0
    padded[:, top : top + h, left : left + w] = x
    return padded


def patches(x: Array, size: Pair, stride: Pair, dilation: Pair, out: Pair, run: int = 1) -> Array:
    """Windows of an already padded image as a view of shape [n, out_h, out_w, size_h, size_w, c].

    With ``run`` that many windows side by side count as one of ``run * c`` channels, which needs stride 1 and a
    C-contiguous image: the shape is [n, out_h, out_w / run, size_h, size_w, run * c].
    """
    n, c = x.shape[0], x.shape[3]
    sn, sh, sw, sc = x.strides
    if run > 1:
        sc = x.itemsize  # of one channel the stride means nothing, contiguous or not
    return as_strided(
        x,
        (n, out[0], out[1] // run, *size, run * c),
        (sn, sh * stride[0], sw * stride[1] * run, sh * dilation[0], sw * dilation[1], sc),
        writeable=False,
    )


CONV_2D = Operation(
    OperationCode.CONV_2D,
    facts=Facts(Kind.CONVOLUTION, summed=slice(1, None)),
    overloads=_declare_overloads(
        _declare_filter(channel=0, late_rank=False),
        (*strides(), Activation(), Layout(), *DILATION),
        lengths=((10, 11, 13), (7, 8, 10)),
    ),
    outputs=(Tensor("out", like="input", image=True),),
    zero_sized=True,
)
CONV_2D.facets(scale_facet)


@CONV_2D.shape
def infer_conv_2d_shape(
    input: OperandType, filter: OperandType, bias: OperandType, padding: Padding, stride: Pair, dilation: Pair
) -> Shape:
    n, h, w, depth = need_image("input", input)
    channels, kh, kw, filter_depth = filter.shape
    need(depth == filter_depth, f"filter has depth {filter_depth}, input has {depth}")
    check_bias(bias, channels, input, filter)
    return (n, *slide((h, w), (kh, kw), stride, padding, dilation), channels)


@CONV_2D.kernel(scaled=("input", "filter"))
def conv_2d(input: Array, filter: Array, bias: Array, padding: Padding, stride: Pair, dilation: Pair) -> Array:
    channels, kh, kw, _ = filter.shape
    x = pad_image(input, padding)
    rows, columns = slide(x.shape[1:3], (kh, kw), stride, dilation=dilation)
    cells = patches(x, (kh, kw), stride, dilation, (rows, columns))
    y = _product(cells, filter.reshape(channels, -1).T)
    y += bias
    return y.reshape(len(x), rows, columns, channels)


def _product(cells: Array, weights: Array) -> Array:
    """The patches times the weights, so many rows of patches at a time that a cache holds their copy."""
    n, rows, columns, kh, kw, _ = cells.shape
    size, channels = weights.shape
    step = max(1, BLOCK // max(1, n * columns * size))
    if step >= rows or kh * kw == 1:  # a patch of one pixel is not copied at all
        return cells.reshape(-1, size) @ weights
    y = np.empty((n, rows * columns, channels), cells.dtype)
    for top in range(0, rows, step):
        block = cells[:, top : top + step].reshape(n, -1, size)
        np.matmul(block, weights, out=y[:, top * columns : (top + step) * columns])
    return y


DEPTHWISE_CONV_2D = Operation(
    OperationCode.DEPTHWISE_CONV_2D,
    facts=Facts(Kind.DEPTHWISE, summed=slice(1, 3)),
    overloads=_declare_overloads(
        _declare_filter(channel=3),
        (*strides(), Scalar("multiplier", INT32, check=positive), Activation(), Layout(), *DILATION),
        lengths=((11, 12, 14), (8, 9, 11)),
    ),
    outputs=(Tensor("out", like="input", image=True),),
    zero_sized=True,
)
DEPTHWISE_CONV_2D.facets(scale_facet)


@DEPTHWISE_CONV_2D.shape
def infer_depthwise_conv_2d_shape(
    input: OperandType,
    filter: OperandType,
    bias: OperandType,
    padding: Padding,
    stride: Pair,
    dilation: Pair,
    multiplier: int,
) -> Shape:
    n, h, w, depth = need_image("input", input)
    ones, kh, kw, channels = filter.shape
    need(ones == 1, f"filter has shape {list(filter.shape)}, the first dimension must be 1")
    need(channels == depth * multiplier, f"filter has depth {channels}, must be {depth} × {multiplier}")
    check_bias(bias, channels, input, filter)
    return (n, *slide((h, w), (kh, kw), stride, padding, dilation), channels)


@DEPTHWISE_CONV_2D.kernel(scaled=("input", "filter"))
def depthwise_conv_2d(
    input: Array, filter: Array, bias: Array, padding: Padding, stride: Pair, dilation: Pair, multiplier: int
) -> Array:
    x = pad_image(input.repeat(multiplier, axis=3) if multiplier > 1 else input, padding)
    kh, kw, channels = filter.shape[1:]
    rows, columns = slide(x.shape[1:3], (kh, kw), stride, dilation=dilation)
    run = columns if stride[1] == 1 else 1  # one long sum over a row of windows is faster than many short ones
    cells = patches(np.ascontiguousarray(x), (kh, kw), stride, dilation, (rows, columns), run)
    y = np.einsum("nhwijc,ijc->nhwc", cells, np.tile(filter[0], run)).reshape(len(x), rows, columns, channels)
    y += bias
    return y


GROUPED_CONV_2D = Operation(
    OperationCode.GROUPED_CONV_2D,
    facts=Facts(Kind.CONVOLUTION, summed=slice(1, None)),
    overloads=_declare_overloads(
        _declare_filter(channel=0, level=3),
        (
            *strides(3),
            Scalar("num_groups", INT32, since=3, check=positive),
            Activation(since=3),
            Layout(default=REQUIRED),
        ),
        level=3,
    ),
    outputs=(Tensor("out", like="input", image=True),),
    failure=BadDataError,
)


@GROUPED_CONV_2D.shape
def infer_grouped_conv_2d_shape(
    input: OperandType,
    filter: OperandType,
    bias: OperandType,
    padding: Padding,
    stride: Pair,
    dilation: Pair,
    num_groups: int,
) -> Shape:
    n, h, w, depth = need_image("input", input)
    channels, kh, kw, filter_depth = filter.shape
    need(
        depth == num_groups * filter_depth,
        f"filter has depth {filter_depth}, must be the {depth} of input divided by {num_groups} groups",
    )
    need(channels % num_groups == 0, f"filter has {channels} channels, which {num_groups} groups do not divide")
    check_bias(bias, channels, input, filter)
    return (n, *slide((h, w), (kh, kw), stride, padding), channels)


@GROUPED_CONV_2D.kernel(scaled=("input", "filter"))
def grouped_conv_2d(
    input: Array, filter: Array, bias: Array, padding: Padding, stride: Pair, dilation: Pair, num_groups: int
) -> Array:
    channels, kh, kw, depth = filter.shape
    x = pad_image(input, padding)
    rows, columns = slide(x.shape[1:3], (kh, kw), stride)
    cells = patches(x, (kh, kw), stride, dilation, (rows, columns)).reshape(-1, kh * kw, num_groups, depth)
    by_group = cells.transpose(2, 0, 1, 3).reshape(num_groups, -1, kh * kw * depth)
    y = by_group @ filter.reshape(num_groups, channels // num_groups, -1).transpose(0, 2, 1)
    return y.transpose(1, 0, 2).reshape(len(x), rows, columns, channels) + bias


def _transposed_explicit(arguments: Arguments) -> Arguments:
    arguments = dict(arguments)
    stride, padding = take_stride(arguments), explicit(arguments)
    for (name, _), (before, _) in zip(PAD_NAMES, padding, strict=True):
        need(before >= 0, f"{name} is {before}, must not be negative")
    return arguments | {"padding": padding, "stride": stride}


def _transposed_implicit(arguments: Arguments) -> Arguments:
    """Padding as of the convolution that makes the input from the wanted output."""
    arguments = dict(arguments)
    stride, wanted = take_stride(arguments), arguments.pop("output_shape")
    need(wanted.shape == (4,), f"output_shape has {wanted.size} numbers, must have 4")
    dimensions = wanted[2:4] if arguments["layout"] else wanted[1:3]
    scheme = arguments.pop("padding_scheme")
    legal = (PaddingCode.PADDING_SAME, PaddingCode.PADDING_VALID)
    need(scheme in legal, f"padding_scheme is {scheme}, must be 1 (SAME) or 2 (VALID)")
    padding: tuple[Pair, ...] = NO_PADDING
    if scheme == PaddingCode.PADDING_SAME:
        sizes = arguments["filter"].shape[1:3]
        padding = tuple(_same(int(e), size, step) for e, size, step in zip(dimensions, sizes, stride, strict=True))
    return arguments | {"padding": padding, "stride": stride}


def _same(wanted: int, size: int, stride: int) -> Pair:
    """The tail may be negative: cells that no filter reaches."""
    total = (-(-wanted // stride) - 1) * stride + size - wanted
    before = max(total, 0) // 2
    return before, total - before


OPERANDS = _declare_filter(channel=0, level=3)
TAIL = (*strides(3), Activation(since=3), Layout(default=REQUIRED))

TRANSPOSE_CONV_2D = Operation(
    OperationCode.TRANSPOSE_CONV_2D,
    facts=Facts(Kind.CONVOLUTION, summed=slice(1, None)),
    overloads=(
        Overload("explicit_padding", (*OPERANDS, *explicit_padding(3), *TAIL), _transposed_explicit),
        Overload(
            "implicit_padding",
            (*OPERANDS, Values("output_shape", since=3), *implicit_padding(3), *TAIL),
            _transposed_implicit,
        ),
    ),
    outputs=(Tensor("out", like="input", image=True),),
    zero_sized=True,
)


@TRANSPOSE_CONV_2D.shape
def infer_transpose_conv_2d_shape(
    input: OperandType, filter: OperandType, bias: OperandType, padding: Padding, stride: Pair
) -> Shape:
    n, *image, depth = need_image("input", input)
    channels, *size, filter_depth = filter.shape
    need(depth == filter_depth, f"filter has depth {filter_depth}, input has {depth}")
    check_bias(bias, channels, input, filter)
    out = tuple(map(_dimension, image, size, stride, padding))
    need(min(out) > 0, f"out would be {out[0]} × {out[1]}, must not be empty: {describe_padding(padding)}")
    return (n, *out, channels)


def _dimension(dimension: int, size: int, stride: int, padding: Pair) -> int:
    return (dimension - 1) * stride + size - sum(padding)


@TRANSPOSE_CONV_2D.kernel(scaled=("input", "filter"))
def transpose_conv_2d(input: Array, filter: Array, bias: Array, padding: Padding, stride: Pair) -> Array:
    (n, h, w, _), (channels, kh, kw, _) = input.shape, filter.shape
    rows, columns = _dimension(h, kh, stride[0], padding[0]), _dimension(w, kw, stride[1], padding[1])
    y = np.empty((n, rows, columns, channels), input.dtype)
    y[:] = bias
    for i, (of_row, to_row) in taps(rows, kh, stride[0], padding[0][0], h):
        for j, (of_column, to_column) in taps(columns, kw, stride[1], padding[1][0], w):
            y[:, to_row, to_column] += input[:, of_row, of_column] @ filter[:, i, j].T
    return y
