"""Convolutions of images, plus bias and activation.

CONV_2D: an image convolved with filters, plus bias and activation.
DEPTHWISE_CONV_2D: each channel of an image convolved with filters of its own, plus bias and activation.
GROUPED_CONV_2D: an image convolved in groups of channels, plus bias and activation.
"""

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import BadDataError, need
from nnapi.model.facts import Facts, Kind
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import REQUIRED, Activation, Layout, Scalar, Tensor, positive
from nnapi.model.proposal import Draw, Proposal
from nnapi.ops.convolution_parameters import (
    DILATION,
    check_bias,
    declare_filter,
    declare_overloads,
    need_groups,
    scale_facet,
    strides,
)
from nnapi.ops.shapes import Padding, Pair, count_windows_of_image, describe_padding, need_image

BLOCK = 2**19
LARGEST = 1 << 32
CONV_TAIL = (*strides(), Activation(), Layout(), *DILATION)

CONV_2D = Operation(
    OperationCode.CONV_2D,
    facts=Facts(Kind.CONVOLUTION, summed=slice(1, None)),
    overloads=declare_overloads(
        declare_filter(channel=0, late_rank=False), CONV_TAIL, lengths=((10, 11, 13), (7, 8, 10))
    ),
    outputs=(Tensor("out", like="input", image=True),),
    zero_sized=True,
)
CONV_2D.check(scale_facet)


@CONV_2D.shape
def infer_conv_2d_shape(input: OperandType, filter: OperandType, bias: OperandType, **windows: Any) -> Shape:
    n, *image, depth = need_image("input", input)
    channels, *size, filter_depth = filter.shape
    need(depth == filter_depth, f"filter has depth {filter_depth}, input has {depth}")
    check_bias(bias, channels, input, filter)
    return (n, *count_windows_of_image(image, size, **windows), channels)


@CONV_2D.kernel(scaled=("input", "filter"))
def conv_2d(input: Array, filter: Array, bias: Array, padding: Padding, stride: Pair, dilation: Pair) -> Array:
    channels, kh, kw, _ = filter.shape
    x = pad_image(input, padding)
    rows, columns = count_windows_of_image(x.shape[1:-1], (kh, kw), stride, dilation=dilation)
    cells = patches(x, (kh, kw), stride, dilation, (rows, columns))
    y = _product(cells, filter.reshape(channels, -1).T)
    y += bias
    return y.reshape(len(x), rows, columns, channels)


def _product(cells: Array, weights: Array) -> Array:
    """Multiply patches by weights, in blocks of rows small enough that the copied patches fit into a cache."""
    n, rows, columns, kh, kw, _ = cells.shape
    size, channels = weights.shape
    step = max(1, BLOCK // max(1, n * columns * size))
    if step >= rows or kh * kw == 1:  # patches of one pixel need no copy
        return cells.reshape(-1, size) @ weights
    y = np.empty((n, rows * columns, channels), cells.dtype)
    for top in range(0, rows, step):
        block = cells[:, top : top + step].reshape(n, -1, size)
        np.matmul(block, weights, out=y[:, top * columns : (top + step) * columns])
    return y


DEPTHWISE_TAIL = (
    *strides(),
    Scalar("multiplier", OperandCode.INT32, check=positive),
    Activation(),
    Layout(),
    *DILATION,
)

DEPTHWISE_CONV_2D = Operation(
    OperationCode.DEPTHWISE_CONV_2D,
    facts=Facts(Kind.DEPTHWISE, summed=slice(1, 3)),
    overloads=declare_overloads(declare_filter(channel=3), DEPTHWISE_TAIL, lengths=((11, 12, 14), (8, 9, 11))),
    outputs=(Tensor("out", like="input", image=True),),
    zero_sized=True,
)
DEPTHWISE_CONV_2D.check(scale_facet)


@DEPTHWISE_CONV_2D.shape
def infer_depthwise_conv_2d_shape(
    input: OperandType, filter: OperandType, bias: OperandType, multiplier: int, **windows: Any
) -> Shape:
    n, *image, depth = need_image("input", input)
    ones, *size, channels = filter.shape
    need(ones == 1, f"filter has shape {list(filter.shape)}, the first dimension must be 1")
    need(channels == depth * multiplier, f"filter has depth {channels}, must be {depth} × {multiplier}")
    check_bias(bias, channels, input, filter)
    return (n, *count_windows_of_image(image, size, **windows), channels)


@DEPTHWISE_CONV_2D.kernel(scaled=("input", "filter"))
def depthwise_conv_2d(
    input: Array, filter: Array, bias: Array, padding: Padding, stride: Pair, dilation: Pair, multiplier: int
) -> Array:
    x = pad_image(input.repeat(multiplier, axis=3) if multiplier > 1 else input, padding)
    kh, kw, channels = filter.shape[1:]
    rows, columns = count_windows_of_image(x.shape[1:-1], (kh, kw), stride, dilation=dilation)
    run = columns if stride[1] == 1 else 1  # one long sum per row of windows is faster than many short ones
    cells = patches(np.ascontiguousarray(x), (kh, kw), stride, dilation, (rows, columns), run)
    y = np.einsum("nhwijc,ijc->nhwc", cells, np.tile(filter[0], run)).reshape(len(x), rows, columns, channels)
    y += bias
    return y


GROUPED_TAIL = (
    *strides(3),
    Scalar("num_groups", OperandCode.INT32, since=3, check=positive),
    Activation(since=3),
    Layout(default=REQUIRED),
)

GROUPED_CONV_2D = Operation(
    OperationCode.GROUPED_CONV_2D,
    facts=Facts(Kind.CONVOLUTION, summed=slice(1, None)),
    overloads=declare_overloads(declare_filter(channel=0, level=3), GROUPED_TAIL, level=3),
    outputs=(Tensor("out", like="input", image=True),),
    failure=BadDataError,
)


@GROUPED_CONV_2D.shape
def infer_grouped_conv_2d_shape(
    input: OperandType, filter: OperandType, bias: OperandType, num_groups: int, **windows: Any
) -> Shape:
    n, *image, depth = need_image("input", input)
    channels, *size, filter_depth = filter.shape
    need_groups(num_groups, depth, filter_depth, channels)
    check_bias(bias, channels, input, filter)
    return (n, *count_windows_of_image(image, size, **windows), channels)


@GROUPED_CONV_2D.kernel(scaled=("input", "filter"))
def grouped_conv_2d(
    input: Array, filter: Array, bias: Array, padding: Padding, stride: Pair, dilation: Pair, num_groups: int
) -> Array:
    channels, kh, kw, depth = filter.shape
    x = pad_image(input, padding)
    rows, columns = count_windows_of_image(x.shape[1:-1], (kh, kw), stride)
    cells = patches(x, (kh, kw), stride, dilation, (rows, columns)).reshape(-1, kh * kw, num_groups, depth)
    by_group = cells.transpose(2, 0, 1, 3).reshape(num_groups, -1, kh * kw * depth)
    y = by_group @ filter.reshape(num_groups, channels // num_groups, -1).transpose(0, 2, 1)
    return y.transpose(1, 0, 2).reshape(len(x), rows, columns, channels) + bias


def pad_image(x: Array, padding: Padding) -> Array:
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
    """Return windows of a padded image as a view of shape [n, out_h, out_w, size_h, size_w, c].

    With ``run``, that many adjacent windows are merged into one window of ``run * c`` channels. The shape is then
    [n, out_h, out_w / run, size_h, size_w, run * c]. This needs stride 1 and a C-contiguous image.
    """
    n, c = x.shape[0], x.shape[3]
    sn, sh, sw, sc = x.strides
    if run > 1:
        sc = x.itemsize  # for an axis of size 1, NumPy's stride is arbitrary
    return as_strided(
        x,
        (n, out[0], out[1] // run, *size, run * c),
        (sn, sh * stride[0], sw * stride[1] * run, sh * dilation[0], sw * dilation[1], sc),
        writeable=False,
    )


@CONV_2D.proposal
def propose_convolution(draw: Draw) -> Proposal:
    from nnapi.ops.window_proposals import draw_windows, most_channels  # only random tests need it

    windows = draw_windows(draw, draw.pick(1, 1, draw.dimension(33)))
    units = draw.dimension(most_channels(windows, windows.image[3]))
    return _with_filter(draw, (windows.rows.size, windows.columns.size), units, units, windows.image[3])


@DEPTHWISE_CONV_2D.proposal
def propose_depthwise(draw: Draw) -> Proposal:
    from nnapi.ops.window_proposals import draw_windows  # only random tests need it

    windows = draw_windows(draw, draw.pick(1, 1, draw.dimension(64)))
    draw.proposal.scalars["multiplier"] = multiplier = draw.pick(1, 1, 1, 2, 3, 8)
    units = windows.image[3] * multiplier
    return _with_filter(draw, (windows.rows.size, windows.columns.size), units, 1, units)


@GROUPED_CONV_2D.proposal
def propose_grouped(draw: Draw) -> Proposal:
    from nnapi.ops.window_proposals import draw_windows, most_channels  # only random tests need it

    draw.proposal.scalars["num_groups"] = count = draw.pick(1, 2, 2, 3, 4)
    windows = draw_windows(draw, count * draw.pick(1, 1, 2, 3, 8))
    units = count * draw.dimension(min(16, most_channels(windows, windows.image[3])))
    return _with_filter(
        draw, (windows.rows.size, windows.columns.size), units, units, max(1, windows.image[3] // count)
    )


def _with_filter(draw: Draw, size: Pair, units: int, first: int, last: int) -> Proposal:
    draw.proposal.shapes |= {"filter": (first, *size, last), "bias": (units,)}
    return draw.proposal
