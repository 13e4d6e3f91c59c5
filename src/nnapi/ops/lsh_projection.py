"""LSH_PROJECTION: a projection of the input to bits by locality-sensitive hashing."""

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import need
from nnapi.model.facts import Facts, Trait
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import Scalar, Tensor, one_of
from nnapi.model.proposal import Draw, Proposal
from nnapi.ops.farmhash import fingerprint64
from nnapi.ops.shapes import need_shape
from nnapi.ops.signature_types import FLOAT16, FLOAT32, INT32, QUANT8

SPARSE_DEPRECATED, DENSE, SPARSE = 1, 2, 3
"""Types: an integer of bits per hash, each bit by itself, or an integer of bits offset by the hash's index."""

LSH_PROJECTION = Operation(
    OperationCode.LSH_PROJECTION,
    facts=Facts(traits=Trait.ORDERS),
    inputs=(
        Tensor("hash", {FLOAT32: 1, FLOAT16: 3}, rank=2, late_rank=True),
        Tensor("input", {FLOAT32: 1, INT32: 1, QUANT8: 1, FLOAT16: 3}),
        Tensor("weight", like="hash", rank=1, late_rank=True, optional=True),
        Scalar("type", OperandCode.INT32, check=one_of(SPARSE_DEPRECATED, DENSE, SPARSE)),
    ),
    outputs=(Tensor("out", INT32),),
)


@LSH_PROJECTION.shape
def infer_shape(hash: OperandType, input: OperandType, weight: OperandType | None, type: int) -> Shape:
    count, bits = hash.shape
    room = bits + (count - 1).bit_length() if type == SPARSE else bits
    need(room <= 32, f"hash has shape {list(hash.shape)}, which takes {room} bits, more than 32")
    need_shape("weight", weight, input.shape[:1])
    return (count * bits,) if type == DENSE else (count,)


@LSH_PROJECTION.kernel(kind="raw")
def lsh_projection(hash: Array, input: Array, weight: Array | None, type: int) -> Array:
    items = np.ascontiguousarray(input).reshape(len(input), -1).view(np.uint8)
    weights = np.ones(len(input)) if weight is None else weight.astype(np.float64)
    bits = np.array([[_bit(seed, items, weights) for seed in seeds] for seeds in hash.astype(np.float32)])
    if type == DENSE:
        return bits.reshape(-1).astype(np.int32)
    count, width = hash.shape
    packed = bits @ (1 << np.arange(width)[::-1])
    if type == SPARSE:
        packed += np.arange(count) << width
    return packed.astype(np.int32)


def _bit(seed: np.float32, items: Array, weights: Array) -> bool:
    """Return whether the weighted sum over ``items`` of hash(seed, item), as signed 64-bit integers, is positive."""
    seeds = np.broadcast_to(np.array([seed]).view(np.uint8), (len(items), 4))
    signed = fingerprint64(np.hstack((seeds, items))).view(np.int64)
    return bool(signed.astype(np.float64) @ weights > 0)


@LSH_PROJECTION.proposal
def propose_lsh_projection(draw: Draw) -> Proposal:
    items = draw.dimension(17)
    shapes: dict[str, Shape] = {"hash": (draw.dimension(5), draw.dimension(8)), "input": (items, draw.dimension(8))}
    return Proposal(shapes | {"weight": (items,)}, {"type": draw.pick(1, 2, 3)})
