"""The last step of single-shot detectors, and tables with keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nnapi.codes import OperationCode as Op
from nnapi.exporters.tflite.context import Context, lower
from nnapi.formats.tflite.detection import detect, find_obstacle
from nnapi.formats.tflite.graph import Operator, Tensor
from nnapi.lowering.lower import require


@lower(Op.DETECTION_POSTPROCESSING)
def detection_postprocessing(
    context: Context, scores: Tensor, deltas: Tensor, anchors: Tensor, **numbers: Any
) -> Sequence[Tensor]:
    obstacle = find_obstacle(scores, numbers)
    require(not obstacle, obstacle)
    results = [context.result(position) for position in range(4)]
    context.operators += detect(scores, deltas, anchors, numbers, results)
    return results


@lower(Op.HASHTABLE_LOOKUP)
def hashtable_lookup(context: Context, lookups: Tensor, keys: Tensor, values: Tensor) -> Sequence[Tensor]:
    results = [context.result(position) for position in range(2)]
    context.operators.append(Operator("HASHTABLE_LOOKUP", [lookups, keys, values], results))
    return results


@lower(Op.LSH_PROJECTION)
def lsh_projection(context: Context, hash: Tensor, input: Tensor, weight: Tensor | None, type: int) -> Tensor:
    """The deprecated sparse type gives each hash for itself, without its number."""
    require(type != 1, "TFLite's LSH_PROJECTION has no sparse type without offsets")
    return context.emit("LSH_PROJECTION", [hash, input, weight], type=1 if type == 3 else type)
