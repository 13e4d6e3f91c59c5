"""Boxes that overlap no better box."""

import numpy as np

from nnapi.exporters.onnx.context import OnnxContext, lower
from nnapi.exporters.onnx.graph import Value, constant
from nnapi.operation_codes import CompositeCode as Composite


@lower(Composite.NON_MAX_SUPPRESSION)
def non_max_suppression(
    context: OnnxContext,
    boxes: Value,
    scores: Value,
    max_boxes: int,
    iou_threshold: float,
    score_threshold: float,
    centered: bool,
) -> Value:
    """Emit NonMaxSuppression, which ONNX Runtime computes in float32 only."""
    pair = [context.cast(each, np.float32) for each in (boxes, scores)]
    limits = [constant([max_boxes]), *(constant([each], np.float32) for each in (iou_threshold, score_threshold))]
    out = context.result().like(element=np.int64)
    return context.narrow(context.emit("NonMaxSuppression", [*pair, *limits], out, center_point_box=int(centered)))
