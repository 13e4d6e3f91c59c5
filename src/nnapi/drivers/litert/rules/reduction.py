"""Means of many values."""

from collections.abc import Collection, Sequence

from nnapi.codes import OperationCode as Op
from nnapi.drivers.litert.context import Context, lower
from nnapi.formats.tflite.graph import Tensor
from nnapi.lowering.tflite import reduction as canonical
from nnapi.model.operand import Array
from nnapi.ops.reduce import reduced_axes

LONGEST_ROW = 4096
"""Maximum number of adjacent quantized values that are summed; twice as many overflow on some processors."""


@lower(Op.MEAN)
def mean(context: Context, input: Tensor, axes: Array, keep_dims: int) -> Tensor:
    """Compute in float32 if the engine's sums of quantized values would overflow."""
    if input.type != "i8" or count_row(input.shape, reduced_axes(len(input.shape), axes)) <= LONGEST_ROW:
        return canonical.reduce(context, input, axes, keep_dims)
    return context.store(canonical.reduce(context, context.real(input), axes, keep_dims, context.real_result()))


def count_row(shape: Sequence[int], axes: Collection[int]) -> int:
    """Return the number of adjacent values that a reduction of ``axes`` combines."""
    count = 1
    for axis in reversed(range(len(shape))):
        if axis not in axes and shape[axis] > 1:
            break
        count *= shape[axis]
    return count
