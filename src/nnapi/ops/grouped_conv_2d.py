"""GROUPED_CONV_2D: an image convolved in groups of channels, plus bias and activation."""

from typing import Any

from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import BadDataError, need
from nnapi.model.facts import Facts, Kind
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import REQUIRED, Activation, Layout, Scalar, Tensor, positive
from nnapi.ops.convolution import check_bias, declare_filter, declare_overloads, pad_image, patches, strides
from nnapi.ops.shapes import Padding, Pair, need_image, slide

TAIL = (
    *strides(3),
    Scalar("num_groups", OperandCode.INT32, since=3, check=positive),
    Activation(since=3),
    Layout(default=REQUIRED),
)

GROUPED_CONV_2D = Operation(
    OperationCode.GROUPED_CONV_2D,
    facts=Facts(Kind.CONVOLUTION, summed=slice(1, None)),
    overloads=declare_overloads(declare_filter(channel=0, level=3), TAIL, level=3),
    outputs=(Tensor("out", like="input", image=True),),
    failure=BadDataError,
)


@GROUPED_CONV_2D.shape
def infer_shape(input: OperandType, filter: OperandType, bias: OperandType, num_groups: int, **windows: Any) -> Shape:
    n, *image, depth = need_image("input", input)
    channels, *size, filter_depth = filter.shape
    need(
        depth == num_groups * filter_depth,
        f"filter has depth {filter_depth}, must be the {depth} of input divided by {num_groups} groups",
    )
    need(channels % num_groups == 0, f"filter has {channels} channels, which {num_groups} groups do not divide")
    check_bias(bias, channels, input, filter)
    return (n, *slide(image, size, **windows), channels)


@GROUPED_CONV_2D.kernel(scaled=("input", "filter"))
def grouped_conv_2d(
    input: Array, filter: Array, bias: Array, padding: Padding, stride: Pair, dilation: Pair, num_groups: int
) -> Array:
    channels, kh, kw, depth = filter.shape
    x = pad_image(input, padding)
    rows, columns = slide(x.shape[1:-1], (kh, kw), stride)
    cells = patches(x, (kh, kw), stride, dilation, (rows, columns)).reshape(-1, kh * kw, num_groups, depth)
    by_group = cells.transpose(2, 0, 1, 3).reshape(num_groups, -1, kh * kw * depth)
    y = by_group @ filter.reshape(num_groups, channels // num_groups, -1).transpose(0, 2, 1)
    return y.transpose(1, 0, 2).reshape(len(x), rows, columns, channels) + bias
