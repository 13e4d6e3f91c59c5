"""FULLY_CONNECTED by CONV_2D on images of one pixel, other products of matrices by FULLY_CONNECTED."""

import math
from functools import reduce
from operator import add

import numpy as np

from nnapi.codes import OperandCode
from nnapi.codes import OperationCode as Op
from nnapi.lowering.decomposition_builder import Decomposition, decomposition
from nnapi.lowering.decompositions.convolution import convolve
from nnapi.lowering.refusal import require
from nnapi.model.builder import Tensor
from nnapi.model.operand import OperandType, as_float32

MOST_MATRICES = 256
MOST_PRODUCTS = 256


@decomposition(Op.FULLY_CONNECTED)
def fully_connected(b: Decomposition, input: Tensor, weights: Tensor, bias: Tensor) -> Tensor:
    units, size = weights.shape
    image = b.reshape(input, (math.prod(input.shape) // size, 1, 1, size))
    type = b.call.results[0]
    out = type.with_dimensions((image.shape[0], 1, 1, units))
    return b.reshape(convolve(b, image, b.reshape(weights, (units, 1, 1, size)), bias, out), type.dimensions)


@decomposition(Op.BATCH_MATMUL)
def batch_matmul(b: Decomposition, lhs: Tensor, rhs: Tensor, adj_x: bool, adj_y: bool) -> Tensor:
    """Multiply matrix by matrix with FULLY_CONNECTED, whose weights are the right matrix transposed."""
    type = b.call.results[0]
    *batch, rows, columns = type.dimensions
    require(math.prod(batch) <= MOST_MATRICES, f"its {math.prod(batch)} matrices are too many to multiply one by one")
    rank = len(type.dimensions)
    transposed = [*range(rank - 2), rank - 1, rank - 2]
    left, right = (b.transpose(lhs, transposed) if adj_x else lhs), (rhs if adj_y else b.transpose(rhs, transposed))
    left, right = (b.reshape(x, (math.prod(x.shape[:-1]), x.shape[-1])) for x in (left, right))
    numbers = np.arange(math.prod(batch)).reshape(batch or (1,))
    of_left, of_right = (_matrix_numbers(x.shape[:-2], numbers.shape) for x in (lhs, rhs))
    if type.code == OperandCode.TENSOR_INT32:
        return _multiply_integers(b, left, right, of_left, of_right)
    bias = _zeros(b, columns, lhs, rhs)
    parts = [
        b.fully_connected(
            b.block(left, 0, i * rows, rows),
            b.block(right, 0, j * columns, columns),
            bias,
            0,
            out=type.with_dimensions((rows, columns)),
        )
        for i, j in zip(of_left, of_right, strict=True)
    ]
    return b.reshape(b.concatenate(parts, 0), type.dimensions)


def _multiply_integers(
    b: Decomposition, left: Tensor, right: Tensor, of_left: list[int], of_right: list[int]
) -> Tensor:
    """Multiply rows by columns elementwise for each pair of int32 matrices, then add along the last axis."""
    *_, rows, columns = b.call.results[0].dimensions
    count, depth = len(of_left), left.shape[1]
    require(depth <= MOST_PRODUCTS, f"its {depth} products of integers are too many to decompose")
    x = b.pick(b.reshape(left, (left.shape[0] // rows, rows, depth)), 0, of_left)
    y = b.pick(b.reshape(right, (right.shape[0] // columns, columns, depth)), 0, of_right)
    products = b.reshape(x, (count, rows, 1, depth)) * b.reshape(y, (count, 1, columns, depth))
    terms = [b.block(products, 3, k, 1) for k in range(depth)]
    return b.reshape(reduce(add, terms), b.call.results[0].dimensions)


def _matrix_numbers(batch: tuple[int, ...], wanted: tuple[int, ...]) -> list[int]:
    numbers = np.arange(math.prod(batch)).reshape(batch or (1,))
    return [int(number) for number in np.broadcast_to(numbers, wanted).ravel()]


def _zeros(b: Decomposition, count: int, lhs: Tensor, rhs: Tensor) -> Tensor:
    if not lhs.type.is_quantized:
        return b.constant(np.zeros(count, np.float32))
    scale = as_float32(lhs.type.scale * rhs.type.scale)
    return b.constant(np.zeros(count, np.int32), OperandType(OperandCode.TENSOR_INT32, (count,), scale))
