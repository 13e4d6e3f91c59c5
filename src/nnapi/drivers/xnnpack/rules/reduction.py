"""Means of long rows."""

from __future__ import annotations

from nnapi.codes import OperationCode as Op
from nnapi.drivers.xnnpack.context import Context, lower
from nnapi.drivers.xnnpack.passes.quantized_reductions import LONGEST_ROW, count_row
from nnapi.formats.tflite.graph import Tensor
from nnapi.lowering.tflite import reduction as canonical
from nnapi.model.operand import Array
from nnapi.ops.reduce import reduced_axes


@lower(Op.MEAN)
def mean(context: Context, input: Tensor, axes: Array, keep_dims: int) -> Tensor:
    """Compute in float32 where rows are so long that the engine's sums of quantized values overflow."""
    if input.type != "i8" or count_row(input.shape, reduced_axes(len(input.shape), axes)) <= LONGEST_ROW:
        return canonical.reduce(context, input, axes, keep_dims)
    return context.store(canonical.reduce(context, context.real(input), axes, keep_dims, context.real_result()))
