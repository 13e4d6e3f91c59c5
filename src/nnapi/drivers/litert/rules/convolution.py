"""Limits of DEPTHWISE_CONV_2D and TRANSPOSE_CONV_2D."""

from typing import Any

from nnapi.codes import OperationCode as Op
from nnapi.drivers.litert.context import LitertContext, lower
from nnapi.formats.tflite.graph import Tensor
from nnapi.lowering.refusal import require
from nnapi.lowering.tflite import convolution as canonical
from nnapi.lowering.windows import explain_too_wide
from nnapi.model.operand import OperandType
from nnapi.ops.shapes import Padding, Pair

LONGEST_STEP = 2**15 - 1
MOST_CHANNELS = 4832
"""Maximum channels of a depthwise result in LiteRT's own kernel. With more, it lacks memory and never returns."""


@lower(Op.DEPTHWISE_CONV_2D)
def depthwise_conv_2d(context: LitertContext, input: Tensor, filter: OperandType, **how: Any) -> Tensor:
    computed = [name for name in ("filter", "bias") if context.is_computed(name)]
    require(
        not computed or filter.shape[3] <= MOST_CHANNELS,
        f"{' and '.join(computed)} computed, for {filter.shape[3]} channels, at most {MOST_CHANNELS} are possible so",
    )
    return canonical.convolve(context, input, filter, **how)


@lower(Op.TRANSPOSE_CONV_2D)
def transpose_conv_2d(
    context: LitertContext, input: Tensor, filter: OperandType, bias: OperandType, padding: Padding, stride: Pair
) -> Tensor:
    require(not explain_too_wide(padding), explain_too_wide(padding))
    longest = max(step if cells > 1 else 1 for step, cells in zip(stride, input.shape[1:3], strict=True))
    require(longest <= LONGEST_STEP, f"the stride is {longest}, the engine takes at most {LONGEST_STEP}")
    return canonical.transpose_conv_2d(context, input, filter, bias, padding, stride)
