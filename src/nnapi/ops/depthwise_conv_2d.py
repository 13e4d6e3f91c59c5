"""DEPTHWISE_CONV_2D: each channel of an image convolved with filters of its own, plus bias and activation."""

from typing import Any

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import need
from nnapi.model.facts import Facts, Kind
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import Activation, Layout, Scalar, Tensor, positive
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

TAIL = (*strides(), Scalar("multiplier", OperandCode.INT32, check=positive), Activation(), Layout(), *DILATION)

DEPTHWISE_CONV_2D = Operation(
    OperationCode.DEPTHWISE_CONV_2D,
    facts=Facts(Kind.DEPTHWISE, summed=slice(1, 3)),
    overloads=declare_overloads(declare_filter(channel=3), TAIL, lengths=((11, 12, 14), (8, 9, 11))),
    outputs=(Tensor("out", like="input", image=True),),
    zero_sized=True,
)
DEPTHWISE_CONV_2D.check(scale_facet)


@DEPTHWISE_CONV_2D.shape
def infer_shape(input: OperandType, filter: OperandType, bias: OperandType, multiplier: int, **windows: Any) -> Shape:
    n, *image, depth = need_image("input", input)
    ones, *size, channels = filter.shape
    need(ones == 1, f"filter has shape {list(filter.shape)}, the first dimension must be 1")
    need(channels == depth * multiplier, f"filter has depth {channels}, must be {depth} × {multiplier}")
    check_bias(bias, channels, input, filter)
    return (n, *slide(image, size, **windows), channels)


@DEPTHWISE_CONV_2D.kernel(scaled=("input", "filter"))
def depthwise_conv_2d(
    input: Array, filter: Array, bias: Array, padding: Padding, stride: Pair, dilation: Pair, multiplier: int
) -> Array:
    x = pad_image(input.repeat(multiplier, axis=3) if multiplier > 1 else input, padding)
    kh, kw, channels = filter.shape[1:]
    rows, columns = slide(x.shape[1:-1], (kh, kw), stride, dilation=dilation)
    run = columns if stride[1] == 1 else 1  # one long sum over a row of windows is faster than many short ones
    cells = patches(np.ascontiguousarray(x), (kh, kw), stride, dilation, (rows, columns), run)
    y = np.einsum("nhwijc,ijc->nhwc", cells, np.tile(filter[0], run)).reshape(len(x), rows, columns, channels)
    y += bias
    return y
