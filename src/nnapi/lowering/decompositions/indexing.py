"""ARGMAX, ARGMIN, TOP_K by TOPK_V2, EMBEDDING_LOOKUP by GATHER."""

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.lowering.decomposition_builder import FLOAT32, Decomposition, decomposition, read_stored
from nnapi.lowering.decompositions.binary import as_numbers
from nnapi.model.builder import Tensor
from nnapi.model.operand import OperandType
from nnapi.operation_codes import CompositeCode as Composite
from nnapi.ops.shapes import axis_of


@decomposition(Op.ARGMAX)
def argmax(b: Decomposition, input: Tensor, axis: int) -> Tensor:
    """Reverse the axis first: among equal values, TOPK_V2 returns the last index and ARGMAX the first."""
    rank = len(input.shape)
    axis = axis_of(axis, rank)
    x = b.transpose(input, [*(i for i in range(rank) if i != axis), axis])
    last = x.shape[-1] - 1
    _, indices = b.topk_v2(b.pick(x, rank - 1, range(last, -1, -1)), 1)
    return b.reshape(last - indices, b.call.results[0].dimensions)


@decomposition(Op.ARGMIN)
def argmin(b: Decomposition, input: Tensor, axis: int) -> Tensor:
    return b.argmax(-(read_stored(b, input) if input.type.is_quantized else input), axis)


@decomposition(Composite.TOP_K)
def top_k(b: Decomposition, input: Tensor, axis: int, k: int, largest: bool) -> list[Tensor]:
    """Reverse the rows first: among equal elements, TOPK_V2 returns the last index first."""
    rank = len(input.shape)
    axis = axis_of(axis, rank)
    order = [*(i for i in range(rank) if i != axis), axis]
    if axis != rank - 1:
        found = b.top_k(b.transpose(input, order), rank - 1, k, largest)
        return [b.transpose(each, np.argsort(order).tolist()) for each in found]
    if not largest:
        real = b.dequantize(input, out=OperandType(FLOAT32)) if input.type.is_quantized else input
        values, indices = b.top_k(_invert(b, real), axis, k, True)
        values = _invert(b, values)
        return [b.quantize(values, out=b.call.results[0]) if input.type.is_quantized else values, indices]
    last = input.shape[-1] - 1
    values, from_behind = b.topk_v2(b.reverse(input, np.array([axis], np.int32)), k)
    return [values, last - from_behind]


def _invert(b: Decomposition, x: Tensor) -> Tensor:
    """Return values in the opposite order; again, this gives x. The negative of the lowest integer would overflow."""
    return -x if x.type.dtype.kind == "f" else -1 - x


@decomposition(Op.EMBEDDING_LOOKUP)
def embedding_lookup(b: Decomposition, lookups: Tensor, values: Tensor) -> Tensor:
    return b.gather(values, 0, lookups)


@decomposition(Op.HASHTABLE_LOOKUP)
def hashtable_lookup(b: Decomposition, lookups: Tensor, keys: Tensor, values: Tensor) -> list[Tensor]:
    """Gather the row whose key equals each lookup; a lookup without a key gives a row of zero bytes."""
    wanted, count = lookups.shape[0], keys.shape[0]
    same = b.equal(b.reshape(lookups, (wanted, 1)), b.reshape(keys, (1, count)))
    most, indices = b.topk_v2(as_numbers(b, same), 1)
    rows = b.gather(values, 0, b.reshape(indices, (wanted,)))
    found = b.reshape(most, (wanted, *[1] * (len(values.shape) - 1)))
    spread = b.tile(found, np.array([1, *values.shape[1:]], np.int32))
    zeros = b.constant(np.zeros(rows.shape, rows.type.dtype), rows.type)
    rows = b.select(spread > 0, rows, zeros, out=rows.type)
    hits = b.cast(b.reshape(most, (wanted,)), out=b.call.results[1])
    return [rows, hits]
