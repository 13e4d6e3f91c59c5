"""Decode boxes from anchors, and suppress those that overlap better ones.

DETECTION_POSTPROCESSING: boxes decoded from anchors, and the best detections after non-maximum suppression.
DETECTION_POSTPROCESSING_V2: as DETECTION_POSTPROCESSING, by scores without a background.
"""

from typing import Any

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import need
from nnapi.model.facts import Facts, Trait
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import Scalar, Tensor, not_negative, positive
from nnapi.model.proposal import Draw, Proposal
from nnapi.operation_codes import CompositeCode
from nnapi.ops.boxes import drop_overlapping, int_scalar, sort_by_score, suppress
from nnapi.ops.signature_types import FLOAT_SCALAR, INT32, floats

DETECTION_POSTPROCESSING = Operation(
    OperationCode.DETECTION_POSTPROCESSING,
    facts=Facts(traits=Trait.ORDERS),
    inputs=(
        Tensor("scores", floats(3), rank=3, late_rank=True),
        Tensor("deltas", like="scores", rank=3, late_rank=True, since=3),
        Tensor("anchors", like="scores", rank=2, late_rank=True, since=3),
        *(
            Scalar(f"scale_{side}", like="scores", via=FLOAT_SCALAR, since=3, check=positive)
            for side in ("y", "x", "h", "w")
        ),
        Scalar("use_regular_nms", OperandCode.BOOL, since=3),
        int_scalar("max_num_detections", check=positive),
        int_scalar("max_classes_per_detection"),
        int_scalar("max_detections_per_class"),
        Scalar("score_threshold", like="scores", via=FLOAT_SCALAR, since=3, check=not_negative),
        Scalar("iou_threshold", like="scores", via=FLOAT_SCALAR, since=3, check=not_negative),
        Scalar("background_in_labels", OperandCode.BOOL, since=3),
    ),
    outputs=(
        Tensor("scores_out", like="scores", since=3),
        Tensor("boxes", like="scores", since=3),
        Tensor("classes", INT32, since=3),
        Tensor("valid_count", INT32, since=3),
    ),
)
DETECTION_POSTPROCESSING_V2 = Operation(
    CompositeCode.DETECTION_POSTPROCESSING_V2,
    facts=DETECTION_POSTPROCESSING.facts,
    inputs=DETECTION_POSTPROCESSING.inputs[:-1],
    outputs=DETECTION_POSTPROCESSING.outputs,
)


@DETECTION_POSTPROCESSING.shape
def infer_shapes(scores: OperandType, **rest: Any) -> list[Shape]:
    classes = scores.shape[2]
    need(classes > 1, f"scores has {classes} classes, must have the background and more")
    return infer_shapes_of_classes(scores, **rest)


@DETECTION_POSTPROCESSING_V2.shape
def infer_shapes_of_classes(
    scores: OperandType,
    deltas: OperandType,
    anchors: OperandType,
    use_regular_nms: bool,
    max_num_detections: int,
    max_classes_per_detection: int,
    max_detections_per_class: int,
    **numbers: float,
) -> list[Shape]:
    images, cells, _ = scores.shape
    need(
        deltas.shape[:2] == (images, cells) and deltas.shape[2] >= 4,
        f"deltas has shape {list(deltas.shape)}, must be [{images}, {cells}, 4 or more]",
    )
    need(anchors.shape == (cells, 4), f"anchors has shape {list(anchors.shape)}, must be [{cells}, 4]")
    name, most = (
        ("max_detections_per_class", max_detections_per_class)
        if use_regular_nms
        else ("max_classes_per_detection", max_classes_per_detection)
    )
    need(most > 0, f"{name} is {most}, must be above 0")
    width = max_num_detections * (1 if use_regular_nms else max_classes_per_detection)
    return [(images, width), (images, width, 4), (images, width), (images,)]


@DETECTION_POSTPROCESSING.kernel
def detection_postprocessing(scores: Array, background_in_labels: bool, **rest: Any) -> tuple[Array, ...]:
    return find_detections(scores[..., 1:], first_label=int(background_in_labels), **rest)


@DETECTION_POSTPROCESSING_V2.kernel
def find_detections(
    scores: Array,
    deltas: Array,
    anchors: Array,
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
    first_label: int = 0,
) -> tuple[Array, ...]:
    boxes = _decode(deltas, anchors, np.array([scale_y, scale_x, scale_h, scale_w], np.float32))
    scores = scores.transpose(0, 2, 1)  # [image, class, cell]
    images, classes, cells = scores.shape
    weaken = drop_overlapping(iou_threshold)
    if use_regular_nms:
        width, most = max_num_detections, max_detections_per_class
        _, taken = suppress(scores, boxes[:, None], scores > score_threshold, weaken, most)
        taken = taken.reshape(images, -1)
        label, cell = np.divmod(sort_by_score(scores.reshape(images, -1), taken)[:, :width], cells)
        valid = np.minimum(taken.sum(-1), width)
    else:
        width, labels = max_num_detections * max_classes_per_detection, min(classes, max_classes_per_detection)
        best = scores.max(1)
        _, taken = suppress(best, boxes, best > score_threshold, weaken, max_num_detections)
        cell = np.repeat(sort_by_score(best, taken)[:, :max_num_detections], labels, -1)
        by_score = np.argsort(-scores, 1, kind="stable")
        label = np.take_along_axis(by_score[:, :labels].transpose(0, 2, 1), cell[:, ::labels, None], 1)
        label = label.reshape(images, -1)
        valid = taken.sum(-1) * labels

    listed = np.arange(label.shape[1]) < valid[:, None]
    image = np.arange(images)[:, None]
    columns = (scores[image, label, cell], boxes[image, cell], label + first_label)
    return (*(_gather(column, listed, width) for column in columns), valid)


def _decode(deltas: Array, anchors: Array, scales: Array) -> Array:
    """Return boxes [image, cell, 4]. Sizes are computed in float64, because float32's exp may overflow."""
    center = anchors[:, :2] + anchors[:, 2:] * deltas[..., :2] / scales[:2]
    half = anchors[:, 2:] * np.exp((deltas[..., 2:4] / scales[2:]).astype(np.float64)) / 2
    return np.concatenate([center - half, center + half], -1).astype(deltas.dtype)


def _gather(values: Array, listed: Array, width: int) -> Array:
    padded = np.zeros((len(values), width, *values.shape[2:]), values.dtype)
    padded[:, : values.shape[1]][listed] = values[listed]
    return padded


@DETECTION_POSTPROCESSING.proposal
@DETECTION_POSTPROCESSING_V2.proposal
def propose_detection(draw: Draw) -> Proposal:
    images, cells, classes = draw.pick(1, 2), draw.dimension(17), draw.pick(2, 3, 5)
    shapes: dict[str, Shape] = {"scores": (images, cells, classes), "anchors": (cells, 4)}
    shapes["deltas"] = (images, cells, draw.pick(4, 4, 7))
    scalars = draw.counts("max_num_detections", "max_classes_per_detection", "max_detections_per_class")
    scales = {f"scale_{side}": draw.pick(1.0, 5.0, 10.0) for side in ("y", "x", "h", "w")}
    return Proposal(shapes, scalars | scales | draw.shares("score_threshold", "iou_threshold"))
