"""CONV_2D: cross-correlation of an image with a bank of filters."""

from __future__ import annotations

from nnapi.codes import OperationCode
from nnapi.errors import need
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Form, Operation
from nnapi.model.parameter import Activation, Layout, Tensor
from nnapi.ops.convolution import (
    DILATION,
    check_operands,
    explicit_padding,
    filtered,
    implicit_padding,
    normal_convolution,
    pad_image,
    patches,
    scale_facet,
    strides,
)
from nnapi.ops.shapes import Padding, Pair, windows

TAIL = (Activation(), Layout(), *DILATION)

CONV_2D = Operation(
    OperationCode.CONV_2D,
    forms=(
        Form(
            "explicit_padding",
            (*filtered(channel=0), *explicit_padding(), *strides(), *TAIL),
            normal_convolution,
            lengths=(10, 11, 13),
        ),
        Form(
            "implicit_padding",
            (*filtered(channel=0), *implicit_padding(), *strides(), *TAIL),
            normal_convolution,
            lengths=(7, 8, 10),
        ),
    ),
    outputs=(Tensor("out", like="input", image=True),),
    zero_sized=True,
)
CONV_2D.facets(scale_facet)


@CONV_2D.shape
def convolved(
    input: OperandType, filter: OperandType, bias: OperandType, padding: Padding, stride: Pair, dilation: Pair
) -> Shape:
    (n, h, w, depth), (channels, kh, kw, filter_depth) = input.shape, filter.shape
    need(depth == filter_depth, f"filter has depth {filter_depth}, input has {depth}")
    check_operands(input, filter, bias, channels)
    return (
        n,
        windows(h, kh, stride[0], padding[0], dilation[0]),
        windows(w, kw, stride[1], padding[1], dilation[1]),
        channels,
    )


@CONV_2D.kernel(scaled=("input", "filter"))
def conv_2d(input: Array, filter: Array, bias: Array, padding: Padding, stride: Pair, dilation: Pair) -> Array:
    channels, kh, kw, depth = filter.shape
    x = pad_image(input, padding)
    rows, columns = (
        (x.shape[axis] - (size - 1) * step - 1) // by + 1
        for axis, size, step, by in zip((1, 2), (kh, kw), dilation, stride, strict=True)
    )
    cells = patches(x, (kh, kw), stride, dilation, (rows, columns)).reshape(-1, kh * kw * depth)
    y = cells @ filter.reshape(channels, -1).T
    y += bias
    return y.reshape(x.shape[0], rows, columns, channels)
