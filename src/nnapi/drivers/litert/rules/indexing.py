"""Lookups whose order or types differ between LiteRT and NNAPI."""

from collections.abc import Sequence

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.drivers.litert.context import Context, lower
from nnapi.formats.tflite.graph import Tensor, constant
from nnapi.lowering.lower import require
from nnapi.lowering.tflite.context import flip_sign


@lower(Op.EMBEDDING_LOOKUP)
def embedding_lookup(context: Context, lookups: Tensor, values: Tensor) -> Tensor:
    return context.emit("GATHER", [values, lookups], axis=0)


@lower(Op.HASHTABLE_LOOKUP)
def hashtable_lookup(context: Context, lookups: Tensor, keys: Tensor, values: Tensor) -> Sequence[Tensor]:
    """Convert the engine's hits, which are unsigned, to signed values."""
    require(values.type != "i8", "the engine gives other quantized values for keys that are missing")
    ordered = context.value("keys")
    require((ordered[:-1] < ordered[1:]).all(), "keys are not in ascending order, in which the engine looks for them")
    out, hits = context.results(2)
    found = flip_sign(hits)
    context.emit_several("HASHTABLE_LOOKUP", [lookups, keys, values], [out, found])
    return out, context.emit("QUANTIZE", [found], hits)


@lower(Op.TOPK_V2)
def top_k(context: Context, input: Tensor, k: int) -> Sequence[Tensor]:
    """Reverse rows: of equal values, the engine returns the first index, NNAPI the last."""
    values, indices = context.results(2)
    last = len(input.shape) - 1
    backward = context.emit("REVERSE_V2", [input, constant([last])], input.like())
    from_behind = indices.like()
    context.emit_several("TOPK_V2", [backward, constant(k)], [values, from_behind])
    end = Tensor("i32", (1,), data=np.array([input.shape[last] - 1], np.int32))
    return values, context.emit("SUB", [end, from_behind], indices, activation=0)
