"""Means of many values, and reductions of quantized values to another scale."""

from collections.abc import Collection, Sequence

from nnapi.codes import OperationCode as Op
from nnapi.drivers.litert.context import LitertContext, lower
from nnapi.formats.tflite.graph import Tensor
from nnapi.lowering.refusal import require
from nnapi.lowering.tflite import reduction as canonical
from nnapi.model.operand import Array
from nnapi.operation_codes import CompositeCode as Composite
from nnapi.ops.reduce import reduced_axes

LONGEST_ROW = 4096
"""Maximum number of adjacent quantized values that are summed; twice as many overflow on some processors."""
RATIOS = (2.0**-14, 2.0**7)
"""Range of (input scale / result scale)."""
MOST_SUMMED = 2**16
"""Maximum number of values in a sum. It then fits into 32 bits, and is exact in float32."""


@lower(Op.MEAN)
def mean(context: LitertContext, input: Tensor, axes: Array, keep_dims: int) -> Tensor:
    """Compute in float32 if the engine's sums of quantized values would overflow."""
    if input.type != "i8" or count_row(input.shape, reduced_axes(len(input.shape), axes)) <= LONGEST_ROW:
        return canonical.reduce(context, input, axes, keep_dims)
    return context.store(canonical.reduce(context, context.real(input), axes, keep_dims, context.real_result()))


@lower(Composite.MEAN_V2, Composite.REDUCE_SUM_V2)
def rescale(context: LitertContext, input: Tensor, axes: Array, keep_dims: int) -> Tensor:
    """Compute on quantized values, which takes up to half the time of floats, if the sums and factors are in range."""
    if input.type != "i8":
        return canonical.reduce(context, input, axes, keep_dims)
    require(context.has_xnnpack, "the engine is not known to compute reductions with two scales")
    out, along = context.result(), reduced_axes(len(input.shape), axes)
    ratio = input.unit / out.unit
    require(RATIOS[0] <= ratio <= RATIOS[1], f"the scales of input and result differ by a factor of {ratio:g}")
    require(context.kind != "SUM" or input.size <= MOST_SUMMED * out.size, "the sums are of too many values")
    require(count_row(input.shape, along) <= LONGEST_ROW, "the engine's sums of a row would overflow")
    return canonical.reduce(context, input, axes, keep_dims)


def count_row(shape: Sequence[int], axes: Collection[int]) -> int:
    """Return the number of adjacent values that a reduction of ``axes`` combines."""
    count = 1
    for axis in reversed(range(len(shape))):
        if axis not in axes and shape[axis] > 1:
            break
        count *= shape[axis]
    return count
