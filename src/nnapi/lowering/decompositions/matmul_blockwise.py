"""BLOCKWISE_FULLY_CONNECTED by FULLY_CONNECTED; constant weights are unpacked before a run."""

import numpy as np

from nnapi.codes import OperandCode
from nnapi.lowering.decomposition_builder import FLOAT32, Decomposition, decomposition
from nnapi.model.builder import Tensor
from nnapi.model.operand import OperandType
from nnapi.operation_codes import CompositeCode
from nnapi.ops.blockwise_fully_connected import unpack_weights


@decomposition(CompositeCode.BLOCKWISE_FULLY_CONNECTED)
def blockwise_fully_connected(
    b: Decomposition,
    input: Tensor,
    weights: Tensor,
    scales: Tensor,
    zero_points: Tensor | None,
    bias: Tensor | None,
    bits: int,
    block_size: int,
) -> Tensor:
    packed, steps = b.value(weights), b.value(scales)
    points = None if zero_points is None else b.value(zero_points)
    if packed is not None and steps is not None and (zero_points is None or points is not None):
        matrix = unpack_weights(packed, steps, points, bits, block_size)[:, : input.shape[-1]]
        factors = b.constant(np.ascontiguousarray(matrix))
    else:
        unpacked = _unpack_weights(b, weights, scales, zero_points, bits, block_size)
        factors = b.block(unpacked, 1, 0, input.shape[-1])
    added = b.constant(np.zeros(factors.shape[0], np.float32)) if bias is None else _as_float(b, bias)
    product = b.fully_connected(_as_float(b, input), factors, added, 0)
    return product if input.type.code == FLOAT32 else b.cast(product, out=b.call.results[0])


def _as_float(b: Decomposition, x: Tensor) -> Tensor:
    """Return floats as float32."""
    if x.type.code == FLOAT32:
        return x
    value = b.value(x)
    if value is not None:
        return b.constant(value.astype(np.float32))
    return b.cast(x, out=OperandType(OperandCode.TENSOR_FLOAT32, x.shape))


def _unpack_weights(
    b: Decomposition, weights: Tensor, scales: Tensor, zero_points: Tensor | None, bits: int, block_size: int
) -> Tensor:
    """Return weights that a run computes as float32 [units, columns of all blocks]."""
    units, blocks, _ = weights.shape
    values = b.block(_unpack_bits(b, weights, bits), 2, 0, block_size)
    if zero_points is None:
        points = b.number(values, 1 << (bits - 1))
    else:
        points = b.reshape(b.block(_unpack_bits(b, zero_points, bits), 1, 0, blocks), (units, blocks, 1))
    factors = b.reshape(_as_float(b, scales), (units, blocks, 1))
    return b.reshape(b.mul(b.sub(values, points, 0), factors, 0), (units, blocks * block_size))


def _unpack_bits(b: Decomposition, packed: Tensor, bits: int) -> Tensor:
    """Unpack integers from bytes along the last axis as float32; the lowest bits come first."""
    *outer, count = packed.shape
    rest, parts, base = b.cast(packed, out=OperandType(FLOAT32, packed.shape)), [], float(1 << bits)
    for _ in range(8 // bits - 1):
        higher = b.floor(b.mul(rest, b.number(rest, 1 / base), 0))
        parts.append(b.sub(rest, b.mul(higher, b.number(rest, base), 0), 0))
        rest = higher
    spread = [b.reshape(each, (*outer, count, 1)) for each in (*parts, rest)]
    return b.reshape(b.concatenate(spread, len(packed.shape)), (*outer, count * len(spread)))
