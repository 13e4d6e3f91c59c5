"""DETECTION_POSTPROCESSING_V2 by DETECTION_POSTPROCESSING."""

from typing import Any

from nnapi.lowering.decomposition_builder import Decomposition, decomposition
from nnapi.model.builder import Tensor
from nnapi.operation_codes import CompositeCode as Composite


@decomposition(Composite.DETECTION_POSTPROCESSING_V2)
def add_background(b: Decomposition, scores: Tensor, **rest: Any) -> Any:
    """Pad the scores by those of the background, which DETECTION_POSTPROCESSING does not read."""
    padded = b.pad(scores, [[0, 0], [0, 0], [1, 0]])
    return b.detection_postprocessing(padded, **rest, background_in_labels=False)
