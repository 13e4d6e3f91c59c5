"""Lookups whose types differ between LiteRT and NNAPI."""

from collections.abc import Sequence

from nnapi.codes import OperationCode as Op
from nnapi.drivers.litert.context import LitertContext, lower
from nnapi.formats.tflite.graph import Tensor
from nnapi.lowering.refusal import require
from nnapi.lowering.tflite.context import flip_sign


@lower(Op.EMBEDDING_LOOKUP)
def embedding_lookup(context: LitertContext, lookups: Tensor, values: Tensor) -> Tensor:
    return context.emit("GATHER", [values, lookups], axis=0)


@lower(Op.HASHTABLE_LOOKUP)
def hashtable_lookup(context: LitertContext, lookups: Tensor, keys: Tensor, values: Tensor) -> Sequence[Tensor]:
    """Convert the engine's hits, which are unsigned, to signed values."""
    require(values.type != "i8", "the engine gives other quantized values for keys that are missing")
    ordered = context.value("keys")
    require((ordered[:-1] < ordered[1:]).all(), "keys are not in ascending order, in which the engine looks for them")
    out, hits = context.results(2)
    found = flip_sign(hits)
    context.emit_several("HASHTABLE_LOOKUP", [lookups, keys, values], [out, found])
    return out, context.emit("QUANTIZE", [found], hits)
