"""The last step of single-shot detectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.drivers.lowering import require
from nnapi.drivers.xnnpack.context import Context, lower
from nnapi.formats.tflite.graph import Operator, Tensor, constant
from nnapi.formats.tflite.schema import DETECTION, ELEMENTS


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
    """The engine gives all results as float32, and leaves places without a detection as they were."""
    require(scores.shape[0] == 1, f"scores has {scores.shape[0]} images, the engine takes one")
    if deltas.shape[2] > 4:
        first = deltas.like(shape=(*deltas.shape[:2], 4))
        deltas = context.emit("SLICE", [deltas, constant([0, 0, 0]), constant(first.shape)], first)
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
        "nms_score_threshold": _above(score_threshold),
        "nms_iou_threshold": float(iou_threshold),
        "num_classes": scores.shape[2] - 1,
        "y_scale": float(scale_y),
        "x_scale": float(scale_x),
        "h_scale": float(scale_h),
        "w_scale": float(scale_w),
    }
    found, boxes, labels, count = (context.result(position) for position in range(4))
    raw_boxes, raw_labels, raw_found = boxes.like(), labels.like(type="f32"), found.like()
    raw_count = count.like(type="f32")
    from flatbuffers import flexbuffers  # only detectors need it

    content = bytes(flexbuffers.Dumps(options))
    outputs = [raw_boxes, raw_labels, raw_found, raw_count]
    context.operators.append(Operator(DETECTION, [deltas, scores, anchors], outputs, {"content": content}))
    _where_found(context, raw_found, raw_count, found)
    _where_found(context, raw_boxes, raw_count, boxes)
    named = _where_found(context, raw_labels, raw_count, raw_labels.like())
    if background_in_labels:
        named = context.emit("ADD", [named, context.fill(named, 1)], named.like(), activation=0)
        named = _where_found(context, named, raw_count, named.like())
    for source, target in ((named, labels), (raw_count, count)):
        context.emit("CAST", [source], target, source=ELEMENTS["f32"], target=ELEMENTS["i32"])
    return found, boxes, labels, count


def _above(threshold: float) -> float:
    """The engine takes scores from the threshold on, the operation those above it."""
    return float(np.nextafter(np.float32(threshold), np.float32(np.inf)))


def _where_found(context: Context, values: Tensor, count: Tensor, out: Tensor) -> Tensor:
    """The values of the places that hold a detection, 0 for the others."""
    places = np.arange(values.shape[1], dtype=np.float32).reshape(1, -1, *[1] * (len(values.shape) - 2))
    listed = context.emit(
        "LESS", [constant(np.broadcast_to(places, values.shape), "f32"), count], values.like(type="bool")
    )
    return context.emit("SELECT", [listed, values, constant(np.zeros(values.shape), "f32")], out)
