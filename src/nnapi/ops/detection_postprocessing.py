"""DETECTION_POSTPROCESSING: boxes decoded from anchors, and the best detections after non-maximum suppression."""

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import need
from nnapi.model.facts import Facts, Trait
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import Scalar, Tensor, not_negative, positive
from nnapi.model.proposal import Draw, Proposal
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


@DETECTION_POSTPROCESSING.shape
def infer_shapes(
    scores: OperandType,
    deltas: OperandType,
    anchors: OperandType,
    use_regular_nms: bool,
    max_num_detections: int,
    max_classes_per_detection: int,
    max_detections_per_class: int,
    **numbers: float,
) -> list[Shape]:
    images, cells, classes = scores.shape
    need(classes > 1, f"scores has {classes} classes, must have the background and more")
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
def detection_postprocessing(
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
    background_in_labels: bool,
) -> tuple[Array, Array, Array, Array]:
    boxes = _decode(deltas, anchors, np.array([scale_y, scale_x, scale_h, scale_w], np.float32))
    foreground = scores[..., 1:].transpose(0, 2, 1)  # [image, class, cell]
    images, classes, cells = foreground.shape
    weaken = drop_overlapping(iou_threshold)
    if use_regular_nms:
        width, most = max_num_detections, max_detections_per_class
        _, taken = suppress(foreground, boxes[:, None], foreground > score_threshold, weaken, most)
        taken = taken.reshape(images, -1)
        label, cell = np.divmod(sort_by_score(foreground.reshape(images, -1), taken)[:, :width], cells)
        valid = np.minimum(taken.sum(-1), width)
    else:
        width, labels = max_num_detections * max_classes_per_detection, min(classes, max_classes_per_detection)
        best = foreground.max(1)
        _, taken = suppress(best, boxes, best > score_threshold, weaken, max_num_detections)
        cell = np.repeat(sort_by_score(best, taken)[:, :max_num_detections], labels, -1)
        by_score = np.argsort(-foreground, 1, kind="stable")
        label = np.take_along_axis(by_score[:, :labels].transpose(0, 2, 1), cell[:, ::labels, None], 1)
        label = label.reshape(images, -1)
        valid = taken.sum(-1) * labels

    listed = np.arange(label.shape[1]) < valid[:, None]
    image = np.arange(images)[:, None]
    columns = (foreground[image, label, cell], boxes[image, cell], label + int(background_in_labels))
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
def propose_detection(draw: Draw) -> Proposal:
    images, cells, classes = draw.pick(1, 2), draw.dimension(17), draw.pick(2, 3, 5)
    shapes: dict[str, Shape] = {"scores": (images, cells, classes), "anchors": (cells, 4)}
    shapes["deltas"] = (images, cells, draw.pick(4, 4, 7))
    scalars = draw.counts("max_num_detections", "max_classes_per_detection", "max_detections_per_class")
    scales = {f"scale_{side}": draw.pick(1.0, 5.0, 10.0) for side in ("y", "x", "h", "w")}
    return Proposal(shapes, scalars | scales | draw.shares("score_threshold", "iou_threshold"))
