"""Elements by their number, their key or their order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.drivers.xnnpack.context import Context, lower
from nnapi.formats.tflite.graph import Operator, Tensor, constant
from nnapi.lowering.lower import require
from nnapi.model.operand import Array


@lower(Op.EMBEDDING_LOOKUP)
def embedding_lookup(context: Context, lookups: Tensor, values: Tensor) -> Tensor:
    return context.emit("GATHER", [values, lookups], context.result(), axis=0)


@lower(Op.HASHTABLE_LOOKUP)
def hashtable_lookup(context: Context, lookups: Tensor, keys: Tensor, values: Tensor) -> Sequence[Tensor]:
    """The engine says of hits in unsigned codes."""
    require(values.type != "i8", "the engine gives other codes for keys that are missing")
    ordered = context.value("keys")
    require((ordered[:-1] < ordered[1:]).all(), "keys are not in ascending order, in which the engine looks for them")
    out, hits = context.result(0), context.result(1)
    found = hits.like(type="u8", zero_point=hits.zero_point + 128)
    context.operators.append(Operator("HASHTABLE_LOOKUP", [lookups, keys, values], [out, found]))
    context.emit("QUANTIZE", [found], hits)
    return out, hits


@lower(Op.REVERSE)
def reverse(context: Context, input: Tensor, axis: Array) -> Tensor:
    return context.emit("REVERSE_V2", [input, constant(axis)], context.result())


@lower(Op.TOPK_V2)
def top_k(context: Context, input: Tensor, k: int) -> Sequence[Tensor]:
    """On rows from behind: of equal values the engine takes the first, the operation the last."""
    values, indices = context.result(0), context.result(1)
    last = len(input.shape) - 1
    backward = context.emit("REVERSE_V2", [input, constant([last])], input.like())
    from_behind = indices.like()
    context.operators.append(Operator("TOPK_V2", [backward, constant(k)], [values, from_behind]))
    end = Tensor("i32", (1,), data=np.array([input.shape[last] - 1], np.int32))
    return values, context.emit("SUB", [end, from_behind], indices, activation=0)
