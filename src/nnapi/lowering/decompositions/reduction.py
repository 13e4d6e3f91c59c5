"""Reductions: combine one half with the other until one element is left."""

from __future__ import annotations

import math
from collections.abc import Callable

from nnapi.codes import OperationCode as Op
from nnapi.lowering.decompositions.binary import as_numbers, is_one
from nnapi.lowering.lower import require
from nnapi.lowering.sketch import Sketch, decomposition, read_stored, write_stored
from nnapi.model.builder import Tensor
from nnapi.model.operand import Array
from nnapi.ops.reduce import reduced_axes

MOST_EXACT = 2**16
"""Most 8-bit values whose sum is exact in float32."""
Combine = Callable[[Tensor, Tensor], Tensor]


def fold(s: Sketch, x: Tensor, axes: Array, combine: Combine) -> Tensor:
    rank = len(x.shape)
    dropped = sorted(reduced_axes(rank, axes))
    kept = [axis for axis in range(rank) if axis not in dropped]
    count = math.prod(x.shape[axis] for axis in dropped)
    x = s.restate(s.permute(x, [*kept, *dropped]), (math.prod(x.shape) // count, count))
    while x.shape[1] > 1:
        half, odd = divmod(x.shape[1], 2)
        folded = combine(s.block(x, 1, 0, half), s.block(x, 1, half, half))
        x = s.join([folded, s.block(x, 1, 2 * half, 1)], 1) if odd else folded
    return s.restate(x, s.call.results[0].dimensions)


@decomposition(Op.REDUCE_SUM)
def reduce_sum(s: Sketch, input: Tensor, axes: Array, keep_dims: bool) -> Tensor:
    return fold(s, input, axes, lambda a, b: s.add(a, b, 0))


@decomposition(Op.REDUCE_PROD)
def reduce_prod(s: Sketch, input: Tensor, axes: Array, keep_dims: bool) -> Tensor:
    return fold(s, input, axes, lambda a, b: s.mul(a, b, 0))


@decomposition(Op.REDUCE_MAX)
def reduce_max(s: Sketch, input: Tensor, axes: Array, keep_dims: bool) -> Tensor:
    return fold(s, input, axes, lambda a, b: s.maximum(a, b, out=a.type))


@decomposition(Op.REDUCE_MIN)
def reduce_min(s: Sketch, input: Tensor, axes: Array, keep_dims: bool) -> Tensor:
    return fold(s, input, axes, lambda a, b: s.minimum(a, b, out=a.type))


@decomposition(Op.REDUCE_ALL)
def reduce_all(s: Sketch, input: Tensor, axes: Array, keep_dims: bool) -> Tensor:
    return is_one(s, fold(s, as_numbers(s, input), axes, lambda a, b: s.minimum(a, b)))


@decomposition(Op.REDUCE_ANY)
def reduce_any(s: Sketch, input: Tensor, axes: Array, keep_dims: bool) -> Tensor:
    return is_one(s, fold(s, as_numbers(s, input), axes, lambda a, b: s.maximum(a, b)))


@decomposition(Op.MEAN)
def mean(s: Sketch, input: Tensor, axes: Array, keep_dims: int) -> Tensor:
    """The mean of quantized values is rounded down."""
    count = math.prod(input.shape[axis] for axis in reduced_axes(len(input.shape), axes))
    if not input.type.is_quantized:
        return s.div(s.reduce_sum(input, axes, keep_dims > 0), s.number(input, count), 0)
    require(count <= MOST_EXACT, f"sums of {count} quantized values are not exact in float32")
    values = read_stored(s, input)
    values = s.add(values, s.number(values, input.type.zero_point), 0)
    means = s.floor(s.div(s.reduce_sum(values, axes, keep_dims > 0), s.number(values, count), 0))
    return write_stored(s, s.sub(means, s.number(means, input.type.zero_point), 0), input.type)
