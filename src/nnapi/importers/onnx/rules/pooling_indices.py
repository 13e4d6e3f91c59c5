"""Indices of pooled maxima, and MaxUnpool, which reads them.

ONNX's indices are positions in the flattened image in the file's axis order; ARGMAX_POOL_2D's are positions in windows.
"""

import math
import operator

import numpy as np

from nnapi.codes import OperationCode
from nnapi.importers.graph import FLOAT32, INT32, Value
from nnapi.importers.onnx.emitter import value_in_file_order
from nnapi.importers.onnx.layout import from_image, stored_image
from nnapi.importers.onnx.node import OnnxNode
from nnapi.importers.onnx.operators import rule
from nnapi.importers.onnx.rules.convolution import Windows, find_windows
from nnapi.importers.onnx.rules.padding import pad_with
from nnapi.importers.onnx.tensors import INT64, OnnxTensor
from nnapi.importers.refusals import expressible
from nnapi.importers.terms import Term, floor
from nnapi.model.operand import OperandType, Shape
from nnapi.operation_codes import CompositeCode
from nnapi.ops.coordinates import Reduction


def pool_with_indices(node: OnnxNode, x: Value, window: Windows) -> list[OnnxTensor]:
    expressible(
        len(window.size) == 2 and not window.is_dilated, "NNAPI gives positions in plain windows of images only"
    )
    image, largest = node.static_shape_of(x), x.type.with_dimensions(())
    numbers = node.graph.ints(window.pads), node.graph.ints(window.stride), node.graph.ints(window.size)
    arguments = x, *numbers, node.flag(False)
    found, positions = node.append(CompositeCode.ARGMAX_POOL_2D, arguments, [largest, OperandType(INT32)])
    is_column_major = bool(node.attribute("storage_order", 0))
    indices = _number_in_image(node, positions, image, window, is_column_major)
    is_adjacent = window.size == window.stride and not any(map(any, window.pads))
    if is_adjacent and not is_column_major and image[1:3] == _unpool(positions.shape, window)[1:3]:
        node.graph.pooled[indices] = positions, window.size
    n, *size, c = found.shape
    shape = (n, c, *size) if node.tensor(0).rank == 4 else (n, c, size[1])
    return [from_image(node, found), node.result(indices, shape, elem=INT64, is_nhwc=True)]


def _unpool(shape: Shape, window: Windows) -> Shape:
    """Return the shape of the image whose adjacent windows pool to ``shape``."""
    n, height, width, c = shape
    return (n, height * window.size[0], width * window.size[1], c)


def _number_in_image(node: OnnxNode, positions: Value, image: Shape, window: Windows, is_column_major: bool) -> Value:
    """Return the index of each maximum in the flattened image: its window's first cell, and its offset from there."""
    (n, height, width, c), (rows, columns) = image, window.size
    down, across = (1, height) if is_column_major else (width, 1)
    first = np.zeros((), np.int64)
    for axis, (count, step, begin) in enumerate(
        [
            (n, c * height * width, 0),
            (positions.shape[1], down * window.stride[0], -down * window.pads[0][0]),
            (positions.shape[2], across * window.stride[1], -across * window.pads[1][0]),
            (c, height * width, 0),
        ]
    ):
        first = first + (np.arange(count) * step + begin).reshape(-1, *(1,) * (3 - axis))
    expressible(math.prod(image) < 2**31, "the image has more elements than int32 counts")
    number = Term(node, positions)
    if min(rows, columns) == 1:
        offset = number * (down if columns == 1 else across)
    else:
        float_row = floor((number.apply(OperationCode.CAST, type=OperandType(FLOAT32)) + 0.5) / columns)
        row = float_row.apply(OperationCode.CAST, type=OperandType(INT32))  # engines do not divide integers exactly
        offset = number * across + row * (down - across * columns)
    return (offset + Term(node, node.constant(first.astype(np.int32)))).value


@rule("MaxUnpool")
def max_unpool(node: OnnxNode) -> OnnxTensor:
    """Lower to MAX_UNPOOL_2D if the indices are those of a pooling with the same windows, else to a scatter."""
    window = find_windows(node, tuple(node.attribute("kernel_shape") or ()))
    indices = node.tensor(1).nhwc
    positions, size = node.graph.pooled.get(indices, (None, ())) if indices is not None else (None, ())
    if positions is not None and size == window.size == window.stride and not any(map(any, window.pads)):
        x = stored_image(node, 0)
        arguments = x, positions, node.graph.ints(size), node.flag(False)
        written = node.apply(CompositeCode.MAX_UNPOOL_2D, *arguments, shape=_unpool(x.shape, window))
        return _widen(node, from_image(node, written))
    n, c, *small = node.static_shape(0)
    axes = zip(small, *(each[-len(small) :] for each in (window.size, window.stride, window.pads)), strict=True)
    shape = (n, c, *((count - 1) * step + length - sum(pads) for count, length, step, pads in axes))
    return _widen(node, node.result(_scatter(node, shape), shape))


def _scatter(node: OnnxNode, shape: Shape) -> Value:
    count = math.prod(node.static_shape(0))
    values, indices = node.view(node.stored(0), (count,)), node.view(node.cast(node.input(1), INT32), (count, 1))
    zeros = node.graph.full(values.type.with_dimensions((math.prod(shape),)))
    arguments = zeros, indices, values, node.i32(Reduction.NONE), node.flag(False)
    return node.view(node.apply(CompositeCode.SCATTER_ND, *arguments, shape=zeros.shape), shape)


def _widen(node: OnnxNode, tensor: OnnxTensor) -> OnnxTensor:
    """Append zeros to each axis, up to the output shape in input 2."""
    wanted = tuple(node.array(2).reshape(-1).tolist()) if node.has(2) else tensor.dims
    least = tensor.dims
    is_wider = len(wanted) == len(least) and all(map(operator.ge, wanted, least))
    expressible(is_wider, f"its output shape {list(wanted)} is not as large as the unpooled {list(least)}")
    widths = [(0, wide - own) for wide, own in zip(wanted, least, strict=True)]
    if not any(map(any, widths)):
        return tensor
    return node.result(pad_with(node, value_in_file_order(node.conversion, tensor), widths, 0.0), wanted)
