"""CONV_3D and TRANSPOSE_CONV_3D by convolutions of images: a volume is a stack of images, or one image of lines."""

from typing import Any, NamedTuple

import numpy as np

from nnapi.lowering.decomposition_builder import Decomposition, decomposition
from nnapi.lowering.decompositions.convolution import convolve, convolve_by_groups
from nnapi.model.builder import Tensor
from nnapi.model.operand import Array, Shape
from nnapi.operation_codes import CompositeCode as Composite
from nnapi.ops.shapes import Pair


class Axes(NamedTuple):
    """Numbers along the depth of a volume, and along height and width."""

    depth: Any
    image: Any


def divide(numbers: Array) -> Axes:
    depth, *image = (tuple(each) if isinstance(each, list) else each for each in numbers.tolist())
    return Axes(depth, tuple(image))


@decomposition(Composite.CONV_3D)
def conv_3d(
    b: Decomposition,
    input: Tensor,
    filter: Tensor,
    bias: Tensor,
    paddings: Array,
    strides: Array,
    dilations: Array,
    groups: int,
) -> Tensor:
    """Add convolutions of images, one for each position along the depth of the filter. If the filter has only depth,
    lines are the rows of one image."""
    out = b.call.results[0].dimensions
    (n, depth, *_, channels), (units, deep, height, width, own) = input.shape, filter.shape
    pads, stride, dilation = map(divide, (paddings, strides, dilations))
    if (height, width) == (1, 1) and stride.image == (1, 1) and not any(map(any, pads.image)):
        rows, kernel = b.reshape(input, (n, depth, out[2] * out[3], channels)), b.reshape(filter, (units, deep, 1, own))
        window = {"padding": (pads.depth, (0, 0)), "stride": (stride.depth, 1), "dilation": (dilation.depth, 1)}
        found = _convolve(b, rows, kernel, bias, (n, out[1], rows.shape[2]), groups, **window)
        return b.reshape(found, out)
    stack = _pad_depth(b, input, pads.depth)
    window = {"padding": pads.image, "stride": stride.image, "dilation": dilation.image}
    total = None
    for position in range(deep):
        images = _take(b, stack, position * dilation.depth, stride.depth, out[1])
        images = b.reshape(images, (n * out[1], *input.shape[2:]))
        kernel = b.reshape(b.block(filter, 1, position, 1), (units, height, width, own))
        offset = bias if total is None else b.zeros(units)
        part = _convolve(b, images, kernel, offset, (n * out[1], *out[2:4]), groups, **window)
        total = part if total is None else total + part
    assert total is not None
    return b.reshape(total, out)


def _convolve(
    b: Decomposition, x: Tensor, filter: Tensor, bias: Tensor, out: Shape, groups: int, **window: Any
) -> Tensor:
    """Convolve images; ``out`` are the dimensions of the result but its channels."""
    type, (units, _, _, own) = x.type.with_dimensions((*out, filter.shape[0])), filter.shape
    if groups == 1:
        return convolve(b, x, filter, bias, type, **window)
    if own == 1:
        (top, bottom), (left, right) = window["padding"]
        steps = left, right, top, bottom, *window["stride"][::-1], units // groups, 0, False, *window["dilation"][::-1]
        return b.depthwise_conv_2d(x, b.transpose(filter, (3, 1, 2, 0)), bias, *steps, out=type)
    return convolve_by_groups(b, x, filter, bias, type, groups, **window)


def _flatten_images(b: Decomposition, x: Tensor) -> Tensor:
    """Return a volume as [batches, depth, all else]."""
    n, depth, *rest = x.shape
    return b.reshape(x, (n, depth, int(np.prod(rest))))


def _pad_depth(b: Decomposition, x: Tensor, padding: Pair) -> Tensor:
    flat = _flatten_images(b, x)
    return b.pad(flat, np.array([[0, 0], padding, [0, 0]], np.int32)) if any(padding) else flat


def _take(b: Decomposition, stack: Tensor, first: int, stride: int, count: int) -> Tensor:
    """Return every ``stride``-th image of a padded stack."""
    if stride == 1:
        return b.block(stack, 1, first, count)
    return b.pick(stack, 1, range(first, first + (count - 1) * stride + 1, stride))


@decomposition(Composite.TRANSPOSE_CONV_3D)
def transpose_conv_3d(
    b: Decomposition, input: Tensor, filter: Tensor, bias: Tensor, paddings: Array, strides: Array
) -> Tensor:
    """Add transposed convolutions of images, one for each position along the depth of the filter, each with its results
    moved apart by the stride."""
    out = b.call.results[0].dimensions
    (n, depth, *image), (units, deep, height, width, own) = input.shape, filter.shape
    (front, _), stride = paddings[0].tolist(), int(strides[0])
    (top, bottom), (left, right) = paddings[1:].tolist()
    steps = left, right, top, bottom, int(strides[2]), int(strides[1]), 0, False
    images, total = b.reshape(input, (n * depth, *image)), None
    for position in range(deep):
        kernel = b.reshape(b.block(filter, 1, position, 1), (units, height, width, own))
        part = b.transpose_conv_2d(images, kernel, b.zeros(units), *steps)
        stack = b.reshape(part, (n, depth, 1, int(np.prod(out[2:]))))
        if stride > 1:
            stack = b.pad(stack, np.array([[0, 0], [0, 0], [0, stride - 1], [0, 0]], np.int32))
        moved = _place(b, b.reshape(stack, (n, depth * stride, stack.shape[3])), position - front, out[1])
        total = moved if total is None else total + moved
    assert total is not None
    return b.reshape(total, out) + bias


def _place(b: Decomposition, stack: Tensor, first: int, count: int) -> Tensor:
    """Return ``count`` images, with those of ``stack`` from ``first`` on; all others are 0."""
    skipped = max(0, -first)
    kept = min(stack.shape[1] - skipped, count - max(0, first))
    if kept <= 0:
        return b.constant(np.zeros((stack.shape[0], count, stack.shape[2]), np.float32))
    around = max(0, first), count - max(0, first) - kept
    return _pad_depth(b, b.block(stack, 1, skipped, kept), around)
