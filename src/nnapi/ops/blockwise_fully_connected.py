"""BLOCKWISE_FULLY_CONNECTED: the product of rows and weights of few bits, with a scale for each block, plus bias.

``weights`` [units, blocks, bytes] holds unsigned integers, packed along the columns of each unit, lowest bits first.
``scales`` is [units, blocks]. ``zero_points`` [units, bytes] is packed like the weights; without it, each is half of
the range. Bits behind the last column are ignored.
"""

import numpy as np

from nnapi.codes import OperandCode
from nnapi.errors import BadDataError, need
from nnapi.model.facts import Facts, Kind
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import Scalar, Tensor, one_of, positive
from nnapi.model.proposal import Draw, Proposal
from nnapi.operation_codes import CompositeCode
from nnapi.ops.shapes import need_shape
from nnapi.ops.signature_types import QUANT8, floats

BITS = (2, 4, 8)
LARGEST = 4000
"""The largest number of weights in random tests."""

BLOCKWISE_FULLY_CONNECTED = Operation(
    CompositeCode.BLOCKWISE_FULLY_CONNECTED,
    facts=Facts(Kind.PRODUCT, summed=slice(1, None)),
    inputs=(
        Tensor("input", floats(3), rank=(2, 3, 4), late_rank=True),
        Tensor("weights", QUANT8, rank=3, late_rank=True, since=3),
        Tensor("scales", like="input", rank=2, late_rank=True, since=3),
        Tensor("zero_points", QUANT8, rank=2, late_rank=True, optional=True, since=3),
        Tensor("bias", like="input", rank=1, late_rank=True, optional=True, since=3),
        Scalar("bits", OperandCode.INT32, since=3, check=one_of(*BITS)),
        Scalar("block_size", OperandCode.INT32, since=3, check=positive),
    ),
    outputs=(Tensor("out", like="input"),),
)


@BLOCKWISE_FULLY_CONNECTED.shape
def infer_shape(
    input: OperandType,
    weights: OperandType,
    scales: OperandType,
    zero_points: OperandType | None,
    bias: OperandType | None,
    bits: int,
    block_size: int,
) -> Shape:
    units, blocks, _ = weights.shape
    width = input.shape[-1]
    need(units > 0 and width > 0, f"weights has shape {list(weights.shape)}, input {list(input.shape)}: no weights")
    need_shape("weights", weights, (units, -(-width // block_size), _count_bytes(block_size, bits)))
    need_shape("scales", scales, (units, blocks))
    need_shape("zero_points", zero_points, (units, _count_bytes(blocks, bits)))
    need_shape("bias", bias, (units,))
    return (input.size // width, units)


def _count_bytes(count: int, bits: int) -> int:
    return -(-count * bits // 8)


@BLOCKWISE_FULLY_CONNECTED.kernel(kind="raw")
def blockwise_fully_connected(
    input: Array,
    weights: Array,
    scales: Array,
    zero_points: Array | None,
    bias: Array | None,
    bits: int,
    block_size: int,
) -> Array:
    width = input.shape[-1]
    matrix = unpack_weights(weights, scales, zero_points, bits, block_size)[:, :width]
    y = input.astype(np.float32, copy=False).reshape(-1, width) @ matrix.T
    return (y if bias is None else y + bias).astype(input.dtype, copy=False)


def unpack_weights(weights: Array, scales: Array, zero_points: Array | None, bits: int, block_size: int) -> Array:
    """Return the weights as float32 [units, columns of all blocks]."""
    units, blocks, _ = weights.shape
    values = unpack_bits(weights, bits)[..., :block_size].astype(np.float32)
    values -= np.float32(1 << (bits - 1)) if zero_points is None else unpack_bits(zero_points, bits)[:, :blocks, None]
    values *= scales[..., np.newaxis]
    return values.reshape(units, blocks * block_size)


def unpack_bits(packed: Array, bits: int) -> Array:
    """Unpack integers of ``bits`` bits from bytes along the last axis; the lowest bits come first."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    found: Array = (packed[..., np.newaxis] >> shifts) & np.uint8((1 << bits) - 1)
    return found.reshape(*packed.shape[:-1], -1)


def pack_bits(values: Array, bits: int) -> Array:
    """Pack unsigned integers below ``2**bits`` into bytes along the last axis; zeros fill the last byte."""
    per_byte = 8 // bits
    rest = -values.shape[-1] % per_byte
    filled = np.pad(values, [*[(0, 0)] * (values.ndim - 1), (0, rest)]) if rest else values
    found: Array = filled[..., ::per_byte].astype(np.uint8)
    for position in range(1, per_byte):
        found |= filled[..., position::per_byte].astype(np.uint8) << np.uint8(position * bits)
    return found


@BLOCKWISE_FULLY_CONNECTED.proposal
def propose(draw: Draw) -> Proposal:
    shape = draw.bound(draw.shape(2, 2, 3, 4), LARGEST)
    bits, block_size, width = draw.pick(2, 4, 4, 4, 8), draw.pick(1, 4, 16, 16, 32, 32), shape[-1]
    need(draw.given in (None, shape), f"the tensor has more than {LARGEST} elements", BadDataError)
    units, blocks = draw.dimension(max(1, LARGEST // width)), -(-width // block_size)
    return Proposal(
        {
            "input": shape,
            "weights": (units, blocks, _count_bytes(block_size, bits)),
            "scales": (units, blocks),
            "zero_points": (units, _count_bytes(blocks, bits)),
            "bias": (units,),
        },
        {"bits": bits, "block_size": block_size},
    )
