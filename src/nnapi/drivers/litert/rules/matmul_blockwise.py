"""Products by weights of 4 bits with a scale for each block, which XNNPACK keeps packed."""

import numpy as np

from nnapi.drivers.litert.context import LitertContext, lower
from nnapi.formats.tflite.graph import Tensor
from nnapi.lowering.refusal import require
from nnapi.model.operand import OperandType
from nnapi.operation_codes import CompositeCode

BLOCK = 32
"""Blocks of the engine have a multiple of this number of columns."""
BITS, MIDDLE = 4, 0x88
"""The bits of the engine's weights, and two of them that are half of the range."""
SMALLEST, LARGEST = 2.0**-14, 65504.0
"""The range of scales, which the file stores as float16."""


@lower(CompositeCode.BLOCKWISE_FULLY_CONNECTED)
def blockwise_fully_connected(
    context: LitertContext,
    input: Tensor,
    weights: OperandType,
    scales: Tensor,
    zero_points: Tensor | None,
    bias: OperandType | None,
    bits: int,
    block_size: int,
) -> Tensor:
    """Lower to FULLY_CONNECTED with quantized rows, if the model permits that."""
    require(context.permits_dynamic_range, "the engine quantizes the rows of a product by weights in blocks")
    require(input.type == "f32", "the engine multiplies float32 by weights in blocks")
    units, blocks = scales.shape
    width = input.shape[-1]
    fits = bits == BITS and block_size % BLOCK == 0 and width == blocks * block_size
    require(fits, f"{width} columns in blocks of {block_size} weights of {bits} bits are not of the engine's form")
    is_middle = zero_points is None or (context.value("zero_points") == MIDDLE).all()
    require(bool(is_middle), "the zero points of the engine's weights are half of the range")
    steps = context.value("scales")
    require(bool(((steps >= SMALLEST) & (steps <= LARGEST)).all()), "the engine's scales are positive float16")
    packed = (context.value("weights") ^ np.uint8(MIDDLE)).reshape(units, -1)
    block_scales = Tensor("f16", (units, blocks), data=steps.astype(np.float16))
    matrix = Tensor("i4", (units, width), data=packed, block_scales=block_scales)
    out, added = context.result(), None if bias is None else context.stored_tensor("bias")
    context.emit("FULLY_CONNECTED", [context.reshape(input, (out.shape[0], width)), matrix, added], out)
    context.operators[-1].intermediates.append(block_scales)
    return out
