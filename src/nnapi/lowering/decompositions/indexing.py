"""ARGMAX, ARGMIN by TOPK_V2, EMBEDDING_LOOKUP by GATHER."""

from __future__ import annotations

from nnapi.codes import OperationCode as Op
from nnapi.lowering.decompositions.binary import as_numbers
from nnapi.lowering.sketch import Sketch, decomposition, read_stored, write_stored
from nnapi.model.builder import Tensor
from nnapi.ops.shapes import axis_of


@decomposition(Op.ARGMAX)
def argmax(s: Sketch, input: Tensor, axis: int) -> Tensor:
    """Reverse the input: among equals TOPK_V2 returns the last, ARGMAX the first."""
    rank = len(input.shape)
    axis = axis_of(axis, rank)
    x = s.permute(input, [*(i for i in range(rank) if i != axis), axis])
    last = x.shape[-1] - 1
    _, indices = s.topk_v2(s.pick(x, rank - 1, range(last, -1, -1)), 1)
    return s.restate(s.sub(s.number(indices, last), indices, 0), s.call.results[0].dimensions)


@decomposition(Op.ARGMIN)
def argmin(s: Sketch, input: Tensor, axis: int) -> Tensor:
    return s.argmax(s.neg(read_stored(s, input) if input.type.is_quantized else input), axis)


@decomposition(Op.EMBEDDING_LOOKUP)
def embedding_lookup(s: Sketch, lookups: Tensor, values: Tensor) -> Tensor:
    return s.gather(values, 0, lookups)


@decomposition(Op.HASHTABLE_LOOKUP)
def hashtable_lookup(s: Sketch, lookups: Tensor, keys: Tensor, values: Tensor) -> list[Tensor]:
    """Gather the rows of the first equal keys; rows without one are zeros."""
    wanted, count = lookups.shape[0], keys.shape[0]
    same = s.equal(s.restate(lookups, (wanted, 1)), s.restate(keys, (1, count)))
    most, indices = s.topk_v2(as_numbers(s, same), 1)
    found = s.restate(most, (wanted, *[1] * (len(values.shape) - 1)))
    rows = s.gather(values, 0, s.restate(indices, (wanted,)))
    if values.type.is_quantized:
        zero_point = s.number(found, values.type.zero_point)
        stored = s.mul(s.add(read_stored(s, rows), zero_point, 0), found, 0)
        rows = write_stored(s, s.sub(stored, zero_point, 0), values.type)
    else:
        rows = s.mul(rows, found, 0)
    hits = s.cast(s.restate(most, (wanted,)), out=s.call.results[1])
    return [rows, hits]
