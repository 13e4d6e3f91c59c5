"""DETECTION_POSTPROCESSING by TFLite's custom operation."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nnapi.formats.tflite.graph import Operator, Tensor, constant
from nnapi.formats.tflite.schema import DETECTION, ELEMENTS


def find_obstacle(scores: Tensor, numbers: Mapping[str, Any]) -> str:
    threshold, labels = numbers["iou_threshold"], numbers["max_classes_per_detection"]
    if scores.shape[0] != 1:
        return f"scores has {scores.shape[0]} images, TFLite's operation takes one"
    if not 0 < threshold <= 1:
        return f"iou_threshold is {threshold}, TFLite takes one above 0 and at most 1"
    if not numbers["use_regular_nms"] and labels != 1:
        return f"max_classes_per_detection is {labels}: TFLite orders labels of equal scores otherwise"
    return ""


def detect(
    scores: Tensor, deltas: Tensor, anchors: Tensor, numbers: Mapping[str, Any], results: Sequence[Tensor]
) -> list[Operator]:
    """Return operators for scores, boxes, labels and count; TFLite returns float32 and leaves entries without detection
    unwritten."""
    found, boxes, labels, count = results
    raw_boxes, raw_labels, raw_found = boxes.like(), labels.like(type="f32"), found.like()
    raw_count = count.like(type="f32")
    outputs = [raw_boxes, raw_labels, raw_found, raw_count]
    options = {"content": _content(numbers, scores.shape[2] - 1)}
    operators = []
    if deltas.shape[2] > 4:
        boxes_alone = deltas.like(shape=(*deltas.shape[:2], 4))
        operators.append(Operator("SLICE", [deltas, constant([0, 0, 0]), constant(boxes_alone.shape)], [boxes_alone]))
        deltas = boxes_alone
    operators.append(Operator(DETECTION, [deltas, scores, anchors], outputs, options))
    operators += _where_found(raw_found, raw_count, found)
    operators += _where_found(raw_boxes, raw_count, boxes)
    named = raw_labels
    if numbers["background_in_labels"]:
        named = raw_labels.like()
        offset = constant([1], "f32")
        operators.append(Operator("ADD", [raw_labels, offset], [named], {"activation": 0}))
    kept = raw_labels.like()
    operators += _where_found(named, raw_count, kept)
    casts = {"source": ELEMENTS["f32"], "target": ELEMENTS["i32"]}
    return [*operators, Operator("CAST", [kept], [labels], casts), Operator("CAST", [raw_count], [count], casts)]


def _content(numbers: Mapping[str, Any], classes: int) -> bytes:
    """Return TFLite's options. It accepts scores from the threshold on, NNAPI's operation those above it."""
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


def _where_found(values: Tensor, count: Tensor, out: Tensor) -> list[Operator]:
    """Return operators that copy the entries with a detection, 0 for the others."""
    indices = np.arange(values.shape[1], dtype=np.float32).reshape(1, -1, *[1] * (len(values.shape) - 2))
    listed = values.like(type="bool")
    return [
        Operator("LESS", [constant(np.broadcast_to(indices, values.shape), "f32"), count], [listed]),
        Operator("SELECT", [listed, values, constant(np.zeros(values.shape), "f32")], [out]),
    ]
