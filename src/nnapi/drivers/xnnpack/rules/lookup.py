"""Elements by their number, their key or their order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.drivers.xnnpack.lowering import lower
from nnapi.drivers.xnnpack.site import Site, need
from nnapi.formats.tflite.graph import Operator, Tensor, constant
from nnapi.model.operand import Array


@lower(Op.EMBEDDING_LOOKUP)
def embedding_lookup(site: Site, lookups: Tensor, values: Tensor) -> Tensor:
    return site.emit("GATHER", [values, lookups], site.result(), axis=0)


@lower(Op.HASHTABLE_LOOKUP)
def hashtable_lookup(site: Site, lookups: Tensor, keys: Tensor, values: Tensor) -> Sequence[Tensor]:
    """The engine says of hits in unsigned codes."""
    need(values.type != "i8", "the engine gives other codes for keys that are missing")
    ordered = site.value("keys")
    need((ordered[:-1] < ordered[1:]).all(), "keys are not in ascending order, in which the engine looks for them")
    out, hits = site.result(0), site.result(1)
    found = hits.like(type="u8", zero_point=hits.zero_point + 128)
    site.operators.append(Operator("HASHTABLE_LOOKUP", [lookups, keys, values], [out, found]))
    site.emit("QUANTIZE", [found], hits)
    return out, hits


@lower(Op.REVERSE)
def reverse(site: Site, input: Tensor, axis: Array) -> Tensor:
    return site.emit("REVERSE_V2", [input, constant(axis)], site.result())


@lower(Op.TOPK_V2)
def top_k(site: Site, input: Tensor, k: int) -> Sequence[Tensor]:
    """On rows from behind: of equal values the engine takes the first, the operation the last."""
    values, indices = site.result(0), site.result(1)
    last = len(input.shape) - 1
    backward = site.emit("REVERSE_V2", [input, constant([last])], input.like())
    from_behind = indices.like()
    site.operators.append(Operator("TOPK_V2", [backward, constant(k)], [values, from_behind]))
    end = Tensor("i32", (1,), data=np.array([input.shape[last] - 1], np.int32))
    return values, site.emit("SUB", [end, from_behind], indices, activation=0)
