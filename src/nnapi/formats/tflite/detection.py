"""TFLite's custom operation for the last step of single-shot detectors, as NNAPI's operation has its results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nnapi.formats.tflite.graph import Operator, Tensor, constant
from nnapi.formats.tflite.schema import DETECTION, ELEMENTS


def detect(
    deltas: Tensor, scores: Tensor, anchors: Tensor, options: Mapping[str, Any], results: Sequence[Tensor], first: int
) -> list[Operator]:
    """The operators that give scores, boxes, labels from ``first`` on, and their count. TFLite gives all as float32,
    and leaves places without a detection as they were."""
    from flatbuffers import flexbuffers  # only detectors need it

    found, boxes, labels, count = results
    raw_boxes, raw_labels, raw_found = boxes.like(), labels.like(type="f32"), found.like()
    raw_count = count.like(type="f32")
    outputs = [raw_boxes, raw_labels, raw_found, raw_count]
    content = bytes(flexbuffers.Dumps(dict(options)))
    operators = []
    if deltas.shape[2] > 4:
        boxes_alone = deltas.like(shape=(*deltas.shape[:2], 4))
        operators.append(Operator("SLICE", [deltas, constant([0, 0, 0]), constant(boxes_alone.shape)], [boxes_alone]))
        deltas = boxes_alone
    operators.append(Operator(DETECTION, [deltas, scores, anchors], outputs, {"content": content}))
    operators += _where_found(raw_found, raw_count, found)
    operators += _where_found(raw_boxes, raw_count, boxes)
    named = raw_labels
    if first:
        named = raw_labels.like()
        offset = constant([first], "f32")
        operators.append(Operator("ADD", [raw_labels, offset], [named], {"activation": 0}))
    kept = raw_labels.like()
    operators += _where_found(named, raw_count, kept)
    casts = {"source": ELEMENTS["f32"], "target": ELEMENTS["i32"]}
    return [*operators, Operator("CAST", [kept], [labels], casts), Operator("CAST", [raw_count], [count], casts)]


def above(threshold: float) -> float:
    """TFLite takes scores from the threshold on, the operation those above it."""
    return float(np.nextafter(np.float32(threshold), np.float32(np.inf)))


def _where_found(values: Tensor, count: Tensor, out: Tensor) -> list[Operator]:
    """The values of the places that hold a detection, 0 for the others."""
    places = np.arange(values.shape[1], dtype=np.float32).reshape(1, -1, *[1] * (len(values.shape) - 2))
    listed = values.like(type="bool")
    return [
        Operator("LESS", [constant(np.broadcast_to(places, values.shape), "f32"), count], [listed]),
        Operator("SELECT", [listed, values, constant(np.zeros(values.shape), "f32")], [out]),
    ]
