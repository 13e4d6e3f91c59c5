"""DETECTION_POSTPROCESSING and DETECTION_POSTPROCESSING_V2, the last step of single-shot detectors."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.formats.tflite.graph import Tensor, constant
from nnapi.formats.tflite.schema import DETECTION
from nnapi.lowering.refusal import require
from nnapi.lowering.tflite.context import TfliteContext, lower
from nnapi.operation_codes import CompositeCode as Composite


@lower(Op.DETECTION_POSTPROCESSING, Composite.DETECTION_POSTPROCESSING_V2)
def detection_postprocessing(
    context: TfliteContext, scores: Tensor, deltas: Tensor, anchors: Tensor, **numbers: Any
) -> Sequence[Tensor]:
    """Convert the results of TFLite, which are float32 and contain unwritten entries after the last detection."""
    threshold, most = numbers["iou_threshold"], numbers["max_classes_per_detection"]
    require(scores.shape[0] == 1, f"scores has {scores.shape[0]} images, TFLite's operation takes one")
    require(0 < threshold <= 1, f"iou_threshold is {threshold}, TFLite takes one above 0 and at most 1")
    is_ordered = numbers["use_regular_nms"] or most == 1
    require(is_ordered, f"max_classes_per_detection is {most}: TFLite orders labels of equal scores otherwise")
    found, boxes, labels, count = context.results(4)
    raw_boxes, raw_labels, raw_found = boxes.like(), labels.like(type="f32"), found.like()
    raw_count = count.like(type="f32")
    if deltas.shape[2] > 4:
        deltas = context.cut(deltas, (0, 0, 0), (*deltas.shape[:2], 4))
    outputs = [raw_boxes, raw_labels, raw_found, raw_count]
    classes = scores.shape[2] - ("background_in_labels" in numbers)
    context.emit_several(DETECTION, [deltas, scores, anchors], outputs, content=_content(numbers, classes))
    _keep_found(context, raw_found, raw_count, found)
    _keep_found(context, raw_boxes, raw_count, boxes)
    if numbers.get("background_in_labels"):
        raw_labels = context.emit("ADD", [raw_labels, constant([1], "f32")], raw_labels.like(), activation=0)
    context.cast(_keep_found(context, raw_labels, raw_count, raw_labels.like()), labels)
    context.cast(raw_count, count)
    return found, boxes, labels, count


def _content(numbers: Mapping[str, Any], classes: int) -> bytes:
    """Return TFLite's options. TFLite accepts scores equal to the threshold, NNAPI only higher ones."""
    from flatbuffers import flexbuffers  # only detectors need it

    above = np.nextafter(np.float32(numbers["score_threshold"]), np.float32(np.inf))
    options = {
        "max_detections": numbers["max_num_detections"],
        "max_classes_per_detection": 1,
        "detections_per_class": numbers["max_detections_per_class"],
        "use_regular_nms": numbers["use_regular_nms"],
        "nms_score_threshold": float(above),
        "nms_iou_threshold": float(numbers["iou_threshold"]),
        "num_classes": classes,
        **{f"{side}_scale": float(numbers[f"scale_{side}"]) for side in "yxhw"},
    }
    return bytes(flexbuffers.Dumps(options))


def _keep_found(context: TfliteContext, values: Tensor, count: Tensor, out: Tensor) -> Tensor:
    """Copy the entries that hold a detection; set the others to 0."""
    indices = np.arange(values.shape[1], dtype=np.float32).reshape(1, -1, *[1] * (len(values.shape) - 2))
    numbered = constant(np.broadcast_to(indices, values.shape), "f32")
    listed = context.emit("LESS", [numbered, count], values.like(type="bool"))
    return context.emit("SELECT", [listed, values, constant(np.zeros(values.shape), "f32")], out)
