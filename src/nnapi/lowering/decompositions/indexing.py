"""ARGMAX, ARGMIN by TOPK_V2, EMBEDDING_LOOKUP by GATHER."""

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.lowering.decomposition_builder import Decomposition, decomposition, read_stored
from nnapi.lowering.decompositions.binary import as_numbers
from nnapi.model.builder import Tensor
from nnapi.ops.shapes import axis_of


@decomposition(Op.ARGMAX)
def argmax(b: Decomposition, input: Tensor, axis: int) -> Tensor:
    """Reverse the axis first: among equal values, TOPK_V2 returns the last index and ARGMAX the first."""
    rank = len(input.shape)
    axis = axis_of(axis, rank)
    x = b.permute(input, [*(i for i in range(rank) if i != axis), axis])
    last = x.shape[-1] - 1
    _, indices = b.topk_v2(b.pick(x, rank - 1, range(last, -1, -1)), 1)
    return b.restate(b.sub(b.number(indices, last), indices, 0), b.call.results[0].dimensions)


@decomposition(Op.ARGMIN)
def argmin(b: Decomposition, input: Tensor, axis: int) -> Tensor:
    return b.argmax(b.neg(read_stored(b, input) if input.type.is_quantized else input), axis)


@decomposition(Op.EMBEDDING_LOOKUP)
def embedding_lookup(b: Decomposition, lookups: Tensor, values: Tensor) -> Tensor:
    return b.gather(values, 0, lookups)


@decomposition(Op.HASHTABLE_LOOKUP)
def hashtable_lookup(b: Decomposition, lookups: Tensor, keys: Tensor, values: Tensor) -> list[Tensor]:
    """Gather the row whose key equals each lookup; a lookup without a key gives a row of zero bytes."""
    wanted, count = lookups.shape[0], keys.shape[0]
    same = b.equal(b.restate(lookups, (wanted, 1)), b.restate(keys, (1, count)))
    most, indices = b.topk_v2(as_numbers(b, same), 1)
    rows = b.gather(values, 0, b.restate(indices, (wanted,)))
    found = b.restate(most, (wanted, *[1] * (len(values.shape) - 1)))
    spread = b.tile(found, np.array([1, *values.shape[1:]], np.int32))
    zeros = b.constant(np.zeros(rows.shape, rows.type.dtype), rows.type)
    rows = b.select(b.greater(spread, b.number(spread, 0)), rows, zeros, out=rows.type)
    hits = b.cast(b.restate(most, (wanted,)), out=b.call.results[1])
    return [rows, hits]
