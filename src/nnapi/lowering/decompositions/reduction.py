"""Reductions: combine the first half of the elements with the second until one element is left."""

import math
from collections.abc import Callable, Mapping

from nnapi.codes import OperandCode
from nnapi.codes import OperationCode as Op
from nnapi.lowering.decomposition_builder import Decomposition, decomposition, read_stored, write_stored
from nnapi.lowering.decompositions.binary import as_numbers, is_one
from nnapi.lowering.lower import require
from nnapi.model.builder import Tensor
from nnapi.model.operand import Array
from nnapi.ops.reduce import reduced_axes

MOST_EXACT = 2**16
"""Maximum number of 8-bit values whose sum is exact in float32."""
COMBINATIONS: Mapping[Op, Callable[[Decomposition, Tensor, Tensor], Tensor]] = {
    Op.REDUCE_SUM: lambda b, x, y: b.add(x, y, 0),
    Op.REDUCE_PROD: lambda b, x, y: b.mul(x, y, 0),
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
    x = b.restate(b.permute(x, [*kept, *dropped]), (math.prod(x.shape) // count, count))
    while x.shape[1] > 1:
        half, odd = divmod(x.shape[1], 2)
        folded = combine(b, b.block(x, 1, 0, half), b.block(x, 1, half, half))
        x = b.concatenate([folded, b.block(x, 1, 2 * half, 1)], 1) if odd else folded
    made = b.restate(x, b.call.results[0].dimensions)
    return is_one(b, made) if is_logical else made


@decomposition(Op.MEAN)
def mean(b: Decomposition, input: Tensor, axes: Array, keep_dims: int) -> Tensor:
    """Divide the sum by the number of elements; round means of quantized values down."""
    count = math.prod(input.shape[axis] for axis in reduced_axes(len(input.shape), axes))
    if not input.type.is_quantized:
        return b.div(b.reduce_sum(input, axes, keep_dims > 0), b.number(input, count), 0)
    require(count <= MOST_EXACT, f"sums of {count} quantized values are not exact in float32")
    values = read_stored(b, input)
    values = b.add(values, b.number(values, input.type.zero_point), 0)
    means = b.floor(b.div(b.reduce_sum(values, axes, keep_dims > 0), b.number(values, count), 0))
    return write_stored(b, b.sub(means, b.number(means, input.type.zero_point), 0), input.type)
