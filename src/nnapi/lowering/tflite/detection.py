"""The last step of single-shot detectors."""

from collections.abc import Sequence
from typing import Any

from nnapi.codes import OperationCode as Op
from nnapi.formats.tflite.detection import detect, find_obstacle
from nnapi.formats.tflite.graph import Tensor
from nnapi.lowering.lower import require
from nnapi.lowering.tflite.context import Context, lower


@lower(Op.DETECTION_POSTPROCESSING)
def detection_postprocessing(
    context: Context, scores: Tensor, deltas: Tensor, anchors: Tensor, **numbers: Any
) -> Sequence[Tensor]:
    obstacle = find_obstacle(scores, numbers)
    require(not obstacle, obstacle)
    results = context.results(4)
    context.operators += detect(scores, deltas, anchors, numbers, results)
    return results
