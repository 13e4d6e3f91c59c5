"""MAX_POOL_2D by maxima of shifted images, AVERAGE_POOL_2D by a depthwise convolution, L2_POOL_2D by squares."""

from functools import reduce

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.lowering.decomposition_builder import Decomposition, decomposition, read_stored, write_stored
from nnapi.lowering.decompositions.movement import pad
from nnapi.lowering.refusal import require
from nnapi.model.builder import Tensor
from nnapi.ops.pooling import count_cells
from nnapi.ops.shapes import Padding, Pair

MOST_TAPS = 256


@decomposition(Op.MAX_POOL_2D)
def max_pool_2d(b: Decomposition, input: Tensor, padding: Padding, stride: Pair, size: Pair) -> Tensor:
    dtype = input.type.dtype
    lowest = float(np.finfo(dtype).min) if dtype.kind == "f" else int(np.iinfo(dtype).min)
    x = pad(b, input, np.array([[0, 0], *padding, [0, 0]]), lowest)
    for axis, (length, step) in enumerate(zip(size, stride, strict=True), 1):
        require(length <= MOST_TAPS, f"a window of {length} is too long")
        count = b.call.results[0].dimensions[axis]
        parts = [b.pick(x, axis, range(first, x.shape[axis], step)[:count]) for first in range(length)]
        x = reduce(lambda x, y: b.maximum(x, y, out=x.type), parts)
    return x


@decomposition(Op.AVERAGE_POOL_2D)
def average_pool_2d(b: Decomposition, input: Tensor, padding: Padding, stride: Pair, size: Pair) -> Tensor:
    """Divide sums over the zero-padded image by the number of elements inside it; round quantized means to nearest."""
    counts = np.maximum(count_cells(input.shape[1:3], padding, stride, size), 1).astype(np.float32)
    if not input.type.is_quantized:
        return _add_windows(b, input, padding, stride, size) / counts
    total = _add_windows(b, read_stored(b, input) + input.type.zero_point, padding, stride, size)
    nearest = b.floor((abs(total) + np.floor(counts / 2)) / counts)
    signed = b.select(b.constant(np.zeros(total.shape, np.float32)) > total, -nearest, nearest)
    return write_stored(b, signed - input.type.zero_point, input.type)


def _add_windows(b: Decomposition, x: Tensor, padding: Padding, stride: Pair, size: Pair) -> Tensor:
    depth = x.shape[3]
    ones, zeros = b.constant(np.ones((1, *size, depth), np.float32)), b.constant(np.zeros(depth, np.float32))
    (top, bottom), (left, right) = padding
    return b.depthwise_conv_2d(x, ones, zeros, left, right, top, bottom, stride[1], stride[0], 1, 0)


@decomposition(Op.L2_POOL_2D)
def l2_pool_2d(b: Decomposition, input: Tensor, padding: Padding, stride: Pair, size: Pair) -> Tensor:
    (top, bottom), (left, right) = padding
    return b.sqrt(b.average_pool_2d(input * input, left, right, top, bottom, stride[1], stride[0], size[1], size[0], 0))
