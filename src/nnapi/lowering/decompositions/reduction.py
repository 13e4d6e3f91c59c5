"""Reductions: combine one half with the other until one element is left."""

from __future__ import annotations

import math
from collections.abc import Callable

from nnapi.codes import OperationCode as Op
from nnapi.lowering.decomposition import Decomposition, decomposition, read_stored, write_stored
from nnapi.lowering.decompositions.binary import as_numbers, is_one
from nnapi.lowering.lower import require
from nnapi.model.builder import Tensor
from nnapi.model.operand import Array
from nnapi.ops.reduce import reduced_axes

MOST_EXACT = 2**16
"""Most 8-bit values whose sum is exact in float32."""
Combine = Callable[[Tensor, Tensor], Tensor]


def fold(b: Decomposition, x: Tensor, axes: Array, combine: Combine) -> Tensor:
    rank = len(x.shape)
    dropped = sorted(reduced_axes(rank, axes))
    kept = [axis for axis in range(rank) if axis not in dropped]
    count = math.prod(x.shape[axis] for axis in dropped)
    x = b.restate(b.permute(x, [*kept, *dropped]), (math.prod(x.shape) // count, count))
    while x.shape[1] > 1:
        half, odd = divmod(x.shape[1], 2)
        folded = combine(b.block(x, 1, 0, half), b.block(x, 1, half, half))
        x = b.join([folded, b.block(x, 1, 2 * half, 1)], 1) if odd else folded
    return b.restate(x, b.call.results[0].dimensions)


@decomposition(Op.REDUCE_SUM)
def reduce_sum(b: Decomposition, input: Tensor, axes: Array, keep_dims: bool) -> Tensor:
    return fold(b, input, axes, lambda x, y: b.add(x, y, 0))


@decomposition(Op.REDUCE_PROD)
def reduce_prod(b: Decomposition, input: Tensor, axes: Array, keep_dims: bool) -> Tensor:
    return fold(b, input, axes, lambda x, y: b.mul(x, y, 0))


@decomposition(Op.REDUCE_MAX)
def reduce_max(b: Decomposition, input: Tensor, axes: Array, keep_dims: bool) -> Tensor:
    return fold(b, input, axes, lambda x, y: b.maximum(x, y, out=x.type))


@decomposition(Op.REDUCE_MIN)
def reduce_min(b: Decomposition, input: Tensor, axes: Array, keep_dims: bool) -> Tensor:
    return fold(b, input, axes, lambda x, y: b.minimum(x, y, out=x.type))


@decomposition(Op.REDUCE_ALL)
def reduce_all(b: Decomposition, input: Tensor, axes: Array, keep_dims: bool) -> Tensor:
    return is_one(b, fold(b, as_numbers(b, input), axes, lambda x, y: b.minimum(x, y)))


@decomposition(Op.REDUCE_ANY)
def reduce_any(b: Decomposition, input: Tensor, axes: Array, keep_dims: bool) -> Tensor:
    return is_one(b, fold(b, as_numbers(b, input), axes, lambda x, y: b.maximum(x, y)))


@decomposition(Op.MEAN)
def mean(b: Decomposition, input: Tensor, axes: Array, keep_dims: int) -> Tensor:
    """The mean of quantized values is rounded down."""
    count = math.prod(input.shape[axis] for axis in reduced_axes(len(input.shape), axes))
    if not input.type.is_quantized:
        return b.div(b.reduce_sum(input, axes, keep_dims > 0), b.number(input, count), 0)
    require(count <= MOST_EXACT, f"sums of {count} quantized values are not exact in float32")
    values = read_stored(b, input)
    values = b.add(values, b.number(values, input.type.zero_point), 0)
    means = b.floor(b.div(b.reduce_sum(values, axes, keep_dims > 0), b.number(values, count), 0))
    return write_stored(b, b.sub(means, b.number(means, input.type.zero_point), 0), input.type)
