"""GROUPED_CONV_2D, TRANSPOSE_CONV_2D and DEPTHWISE_CONV_2D by CONV_2D."""

from typing import Any

from nnapi.codes import OperationCode as Op
from nnapi.lowering.decomposition_builder import Decomposition, decomposition
from nnapi.model.builder import Tensor
from nnapi.model.operand import OperandType
from nnapi.ops.shapes import Padding, Pair


def convolve(
    b: Decomposition,
    x: Tensor,
    filter: Tensor,
    bias: Tensor,
    out: OperandType,
    *,
    padding: Padding = ((0, 0), (0, 0)),
    stride: Pair = (1, 1),
    dilation: Pair = (1, 1),
) -> Tensor:
    (top, bottom), (left, right) = padding
    window = left, right, top, bottom, stride[1], stride[0]
    return b.conv_2d(x, filter, bias, *window, 0, False, dilation[1], dilation[0], out=out)


@decomposition(Op.GROUPED_CONV_2D)
def grouped_conv_2d(
    b: Decomposition, input: Tensor, filter: Tensor, bias: Tensor, num_groups: int, **window: Any
) -> Tensor:
    return convolve_by_groups(b, input, filter, bias, b.call.results[0], num_groups, **window)


def convolve_by_groups(
    b: Decomposition, input: Tensor, filter: Tensor, bias: Tensor, type: OperandType, num_groups: int, **window: Any
) -> Tensor:
    depth, channels = input.shape[3] // num_groups, filter.shape[0] // num_groups
    out = type.with_dimensions((*type.dimensions[:3], channels))
    parts = []
    for group in range(num_groups):
        x = b.block(input, 3, group * depth, depth)
        kernel, offset = (b.block(each, 0, group * channels, channels) for each in (filter, bias))
        parts.append(convolve(b, x, kernel, offset, out, **window))
    return b.concatenate(parts, 3)


@decomposition(Op.TRANSPOSE_CONV_2D)
def transpose_conv_2d(
    b: Decomposition, input: Tensor, filter: Tensor, bias: Tensor, padding: Padding, stride: Pair
) -> Tensor:
    """Insert zeros between the image's elements, then convolve with the flipped filter."""
    n, h, w, c = input.shape
    _, kh, kw, _ = filter.shape
    (top, bottom), (left, right) = padding
    x = _move_apart(b, b.reshape(input, (n, h, w * c, 1)), stride[0])
    rows = x.shape[1]
    x = _move_apart(b, b.reshape(x, (n * rows, w, c, 1)), stride[1])
    x = b.reshape(x, (n, rows, x.shape[1], c))
    around = [(kh - 1 - top, kh - 1 - bottom), (kw - 1 - left, kw - 1 - right)]
    for axis, (before, after) in enumerate(around, 1):
        first, size = max(0, -before), x.shape[axis] + min(0, before) + min(0, after)
        x = b.block(x, axis, first, size)
    inside = [[max(0, before), max(0, after)] for before, after in around]
    if any(map(any, inside)):  # the padding of CONV_2D must be narrower than the filter
        x = b.pad(x, [[0, 0], *inside, [0, 0]])
    flipped = b.pick(b.pick(filter, 1, range(kh)[::-1]), 2, range(kw)[::-1])
    return convolve(b, x, flipped, bias, b.call.results[0])


def _move_apart(b: Decomposition, x: Tensor, stride: int) -> Tensor:
    """Insert ``stride`` - 1 zeros between elements along axis 1; the last of the four axes has size 1."""
    n, size, inner, _ = x.shape
    if stride == 1 or size == 1:
        return x
    apart = b.pad(b.reshape(x, (n * size, 1, inner, 1)), [[0, 0], [0, stride - 1], [0, 0], [0, 0]])
    return b.block(b.reshape(apart, (n, size * stride, inner, 1)), 1, 0, (size - 1) * stride + 1)


@decomposition(Op.DEPTHWISE_CONV_2D)
def depthwise_conv_2d(
    b: Decomposition, input: Tensor, filter: Tensor, bias: Tensor, multiplier: int, **window: Any
) -> Tensor:
    """Convert to GROUPED_CONV_2D with one group per channel; the filter's last axis becomes its first."""
    return grouped_conv_2d(b, input, b.transpose(filter, (3, 1, 2, 0)), bias, input.shape[3], **window)
