"""CONV_2D: an image convolved with filters, plus bias and activation."""

from typing import Any

import numpy as np

from nnapi.codes import OperationCode
from nnapi.errors import need
from nnapi.model.facts import Facts, Kind
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import Activation, Layout, Tensor
from nnapi.ops.convolution import (
    DILATION,
    check_bias,
    declare_filter,
    declare_overloads,
    pad_image,
    patches,
    scale_facet,
    strides,
)
from nnapi.ops.shapes import Padding, Pair, need_image, slide

BLOCK = 2**19
TAIL = (*strides(), Activation(), Layout(), *DILATION)

CONV_2D = Operation(
    OperationCode.CONV_2D,
    facts=Facts(Kind.CONVOLUTION, summed=slice(1, None)),
    overloads=declare_overloads(declare_filter(channel=0, late_rank=False), TAIL, lengths=((10, 11, 13), (7, 8, 10))),
    outputs=(Tensor("out", like="input", image=True),),
    zero_sized=True,
)
CONV_2D.check(scale_facet)


@CONV_2D.shape
def infer_shape(input: OperandType, filter: OperandType, bias: OperandType, **windows: Any) -> Shape:
    n, *image, depth = need_image("input", input)
    channels, *size, filter_depth = filter.shape
    need(depth == filter_depth, f"filter has depth {filter_depth}, input has {depth}")
    check_bias(bias, channels, input, filter)
    return (n, *slide(image, size, **windows), channels)


@CONV_2D.kernel(scaled=("input", "filter"))
def conv_2d(input: Array, filter: Array, bias: Array, padding: Padding, stride: Pair, dilation: Pair) -> Array:
    channels, kh, kw, _ = filter.shape
    x = pad_image(input, padding)
    rows, columns = slide(x.shape[1:-1], (kh, kw), stride, dilation=dilation)
    cells = patches(x, (kh, kw), stride, dilation, (rows, columns))
    y = _product(cells, filter.reshape(channels, -1).T)
    y += bias
    return y.reshape(len(x), rows, columns, channels)


def _product(cells: Array, weights: Array) -> Array:
    """Multiply patches by weights, in blocks of rows whose copies fit into a cache."""
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
