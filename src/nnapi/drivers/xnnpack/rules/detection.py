"""The last step of single-shot detectors."""

from __future__ import annotations

from collections.abc import Sequence

from nnapi.codes import OperationCode as Op
from nnapi.drivers.lowering import require
from nnapi.drivers.xnnpack.context import Context, lower
from nnapi.formats.tflite.detection import above, detect
from nnapi.formats.tflite.graph import Tensor


@lower(Op.DETECTION_POSTPROCESSING)
def detection_postprocessing(
    context: Context,
    scores: Tensor,
    deltas: Tensor,
    anchors: Tensor,
    scale_y: float,
    scale_x: float,
    scale_h: float,
    scale_w: float,
    use_regular_nms: bool,
    max_num_detections: int,
    max_classes_per_detection: int,
    max_detections_per_class: int,
    score_threshold: float,
    iou_threshold: float,
    background_in_labels: bool,
) -> Sequence[Tensor]:
    require(scores.shape[0] == 1, f"scores has {scores.shape[0]} images, the engine takes one")
    require(0 < iou_threshold <= 1, f"iou_threshold is {iou_threshold}, the engine takes one above 0 and at most 1")
    require(
        use_regular_nms or max_classes_per_detection == 1,
        f"max_classes_per_detection is {max_classes_per_detection}: the engine orders labels of equal scores otherwise",
    )
    options = {
        "max_detections": max_num_detections,
        "max_classes_per_detection": 1,
        "detections_per_class": max_detections_per_class,
        "use_regular_nms": use_regular_nms,
        "nms_score_threshold": above(score_threshold),
        "nms_iou_threshold": float(iou_threshold),
        "num_classes": scores.shape[2] - 1,
        "y_scale": float(scale_y),
        "x_scale": float(scale_x),
        "h_scale": float(scale_h),
        "w_scale": float(scale_w),
    }
    results = [context.result(position) for position in range(4)]
    context.operators += detect(deltas, scores, anchors, options, results, int(background_in_labels))
    return results
