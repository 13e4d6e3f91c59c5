"""Reductions: combine the first half of the elements with the second until one element is left. CUMSUM."""

import math
from collections.abc import Callable, Mapping

import numpy as np

from nnapi.codes import OperandCode
from nnapi.codes import OperationCode as Op
from nnapi.lowering.decomposition_builder import Decomposition, decomposition, read_stored, write_stored
from nnapi.lowering.decompositions.binary import as_numbers, is_one
from nnapi.lowering.refusal import require
from nnapi.model.builder import Tensor
from nnapi.model.operand import Array
from nnapi.operation_codes import Code
from nnapi.operation_codes import CompositeCode as Composite
from nnapi.ops.reduce import reduced_axes
from nnapi.ops.shapes import axis_of

MOST_EXACT = 2**16
"""Maximum number of 8-bit values whose sum is exact in float32."""
Combine = Callable[[Decomposition, Tensor, Tensor], Tensor]
COMBINATIONS: Mapping[Code, Combine] = {
    Op.REDUCE_SUM: lambda b, x, y: x + y,
    Op.REDUCE_PROD: lambda b, x, y: x * y,
    Op.REDUCE_MAX: lambda b, x, y: b.maximum(x, y, out=x.type),
    Op.REDUCE_MIN: lambda b, x, y: b.minimum(x, y, out=x.type),
    Op.REDUCE_ALL: lambda b, x, y: b.minimum(x, y),
    Op.REDUCE_ANY: lambda b, x, y: b.maximum(x, y),
}


@decomposition(*COMBINATIONS)
def fold(b: Decomposition, input: Tensor, axes: Array, keep_dims: bool) -> Tensor:
    is_logical = input.type.code == OperandCode.TENSOR_BOOL8
    x, rank = as_numbers(b, input) if is_logical else input, len(input.shape)
    combine = COMBINATIONS[b.call.operation.code]
    dropped = reduced_axes(rank, axes)
    kept = [axis for axis in range(rank) if axis not in dropped]
    count = math.prod(x.shape[axis] for axis in dropped)
    x = b.reshape(b.transpose(x, [*kept, *dropped]), (math.prod(x.shape) // count, count))
    made = b.reshape(fold_along(b, x, 1, combine), b.call.results[0].dimensions)
    return is_one(b, made) if is_logical else made


def fold_along(b: Decomposition, x: Tensor, axis: int, combine: Combine) -> Tensor:
    """Combine the first half of an axis with the second until one element is left."""
    while x.shape[axis] > 1:
        half, odd = divmod(x.shape[axis], 2)
        folded = combine(b, b.block(x, axis, 0, half), b.block(x, axis, half, half))
        x = b.concatenate([folded, b.block(x, axis, 2 * half, 1)], axis) if odd else folded
    return x


@decomposition(Composite.MEAN_V2)
def mean_of_floats(b: Decomposition, input: Tensor, axes: Array, keep_dims: int) -> Tensor:
    return b.mean(input, axes, keep_dims)


@decomposition(Composite.REDUCE_SUM_V2)
def sum_of_floats(b: Decomposition, input: Tensor, axes: Array, keep_dims: bool) -> Tensor:
    return b.reduce_sum(input, axes, keep_dims)


@decomposition(Op.MEAN)
def mean(b: Decomposition, input: Tensor, axes: Array, keep_dims: int) -> Tensor:
    """Divide the sum by the number of elements; round means of quantized values down."""
    count = math.prod(input.shape[axis] for axis in reduced_axes(len(input.shape), axes))
    if not input.type.is_quantized:
        return b.reduce_sum(input, axes, keep_dims > 0) / count
    require(count <= MOST_EXACT, f"sums of {count} quantized values are not exact in float32")
    values = read_stored(b, input) + input.type.zero_point
    means = b.floor(b.reduce_sum(values, axes, keep_dims > 0) / count)
    return write_stored(b, means - input.type.zero_point, input.type)


@decomposition(Composite.CUMSUM)
def cumsum(b: Decomposition, input: Tensor, axis: int, exclusive: bool, reverse: bool) -> Tensor:
    """Multiply rows by a triangular matrix; add integers in passes, because the product computes floats."""
    rank, axis = len(input.shape), axis_of(axis, len(input.shape))
    order = [*(i for i in range(rank) if i != axis), axis]
    last = b.transpose(input, order)
    rows = b.reshape(last, (math.prod(last.shape[:-1]), last.shape[-1]))
    if input.type.code == OperandCode.TENSOR_INT32:
        summed = _sum_integers(b, rows, exclusive, reverse)
    else:
        triangle = np.tri(last.shape[-1], k=-1 if exclusive else 0, dtype=input.type.dtype)
        matrix = b.constant(triangle if reverse else np.ascontiguousarray(triangle.T))
        summed = b.batch_matmul(rows, matrix, False, False)
    return b.transpose(b.reshape(summed, last.shape), np.argsort(order).tolist())


def _sum_integers(b: Decomposition, rows: Tensor, exclusive: bool, reverse: bool) -> Tensor:
    """In pass k, add to each element the one 2**k positions earlier."""
    count, distance = rows.shape[1], 1
    if exclusive:
        rows = _move(b, rows, 1, reverse)
    while distance < count:
        rows = rows + _move(b, rows, distance, reverse)
        distance *= 2
    return rows


def _move(b: Decomposition, rows: Tensor, distance: int, reverse: bool) -> Tensor:
    """Move elements by a distance towards the end; with ``reverse``, towards the start. Fill with zeros."""
    positions = np.arange(rows.shape[1]) + (distance if reverse else -distance)
    is_inside = (positions >= 0) & (positions < rows.shape[1])
    moved = b.pick(rows, 1, np.where(is_inside, positions, 0).tolist())
    return moved * is_inside[np.newaxis].astype(rows.type.dtype)
