"""Convolutions of volumes. In TFLite, the output channels are the last axis of a filter, or the last but one."""

from collections.abc import Sequence

import numpy as np

from nnapi.codes import PaddingCode
from nnapi.importers.graph import Value
from nnapi.importers.refusals import expressible
from nnapi.importers.tflite.node import TfliteNode
from nnapi.importers.tflite.rules import rule
from nnapi.importers.tflite.rules.convolution import PADDING, bias_of, read_weights
from nnapi.operation_codes import CompositeCode
from nnapi.ops.shapes import Pair, same_padding


@rule("CONV_3D")
def conv_3d(node: TfliteNode) -> None:
    o = node.options
    x, filter = _read_operands(node, 0, (4, 0, 1, 2, 3))
    strides, dilations = (o.stride_d, o.stride_h, o.stride_w), (o.dilation_d, o.dilation_h, o.dilation_w)
    depth, own = x.shape[4], filter.shape[4]
    expressible(depth and own and depth % own == 0, f"its filter has depth {own}, its input {depth}")
    bias = bias_of(node, 2, x, filter, filter.shape[0])
    paddings = [(0, 0)] * 3
    if _is_same(node):
        sizes = node.static_shape_of(x)[1:4], filter.shape[1:4], strides, dilations
        paddings = [same_padding(*each) for each in zip(*sizes, strict=True)]
    numbers = [node.graph.ints(each) for each in (np.array(paddings), strides, dilations)]
    groups, activation = node.i32(depth // own), node.activation(o.activation)
    node.emit(CompositeCode.CONV_3D, x, filter, bias, *numbers, groups, activation)


@rule("CONV_3D_TRANSPOSE")
def conv_3d_transpose(node: TfliteNode) -> None:
    """Lower CONV_3D_TRANSPOSE, whose first input has the dimensions of the result."""
    o = node.options
    expressible((o.dilation_d, o.dilation_h, o.dilation_w) == (1, 1, 1), "NNAPI's has no dilation")
    x, filter = _read_operands(node, 2, (3, 0, 1, 2, 4))
    strides = o.stride_d, o.stride_h, o.stride_w
    wanted = tuple(node.numbers(0))
    expressible(len(wanted) == 5, f"its output shape {list(wanted)} has not five dimensions")
    volume, size = node.static_shape_of(x)[1:4], filter.shape[1:4]
    paddings = [_pad(*each, _is_same(node)) for each in zip(volume, size, strides, wanted[1:4], strict=True)]
    numbers = node.graph.ints(np.array(paddings)), node.graph.ints(strides)
    bias = bias_of(node, 3, x, filter, filter.shape[0])
    node.emit(CompositeCode.TRANSPOSE_CONV_3D, x, filter, bias, *numbers, node.activation(o.activation))


def _read_operands(node: TfliteNode, i: int, order: Sequence[int]) -> tuple[Value, Value]:
    """Return input ``i`` and the filter, whose axes are put into the composites' order."""
    x, filter = read_weights(node, i, 1)
    expressible(x.rank == 5 and filter.rank == 5, "its input and filter are not of rank 5")
    if filter.array is None:
        return x, node.transpose(filter, order)
    return x, node.graph.constant(np.ascontiguousarray(filter.array.transpose(order)), name=filter.name)


def _is_same(node: TfliteNode) -> bool:
    scheme = node.options.padding
    expressible(scheme in PADDING, f"its padding scheme is {scheme}, must be 0 (SAME) or 1 (VALID)")
    return PADDING[scheme] == PaddingCode.PADDING_SAME


def _pad(cells: int, size: int, stride: int, wanted: int, is_same: bool) -> Pair:
    """Return the padding with which a transposed convolution gives the ``wanted`` cells along an axis."""
    total = (cells - 1) * stride + size - wanted
    before = max(total, 0) // 2 if is_same else 0
    return before, total - before
