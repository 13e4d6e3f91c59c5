"""Suppression of overlapping boxes: by indices, or as the last step of single-shot detectors, a custom operation."""

from typing import Any

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import BadDataError, need
from nnapi.formats.tflite.flexbuffer import read_map
from nnapi.formats.tflite.schema import DETECTION
from nnapi.importers.graph import FLOAT32, INT32
from nnapi.importers.refusals import expressible
from nnapi.importers.tflite.node import TfliteNode
from nnapi.importers.tflite.rules import rule
from nnapi.model.operand import OperandType
from nnapi.operation_codes import CompositeCode
from nnapi.ops.coordinates import Reduction


@rule(DETECTION)
def detection_postprocess(node: TfliteNode) -> None:
    """Lower TFLite_Detection_PostProcess. Its outputs are boxes, classes, scores, count; NNAPI's begin with scores."""
    parameters = Parameters(node.operator.custom_options)
    deltas, scores, anchors = node.reals()
    number = parameters.number
    classes = number("num_classes")
    columns = scores.shape[2] if scores.rank == 3 else 0
    expressible(
        columns in (classes, classes + 1),
        f"it has scores of {scores.shape[-1]} classes, must be {classes}, or one more for a background",
    )
    has_background = columns > classes
    regular = bool(number("use_regular_nms", False))
    scales = [node.real(number(f"{name}_scale"), scores) for name in "yxhw"]
    limits = (number("max_detections"), number("max_classes_per_detection"), number("detections_per_class", 100))
    least = number("nms_score_threshold")
    if least < 0:
        node.note("a score threshold below zero is zero: NNAPI has no other, and finds nothing with a score below zero")
    thresholds = (max(least, 0.0), number("nms_iou_threshold"))
    found = limits[0] * (1 if regular else limits[1])
    images = scores.shape[0]
    boxes_out, classes_out, scores_out, count_out = node.outputs
    shapes = ((images, found, 4), (images, found), (images, found), (images,))
    for value, shape in zip(node.outputs, shapes, strict=True):
        value.type = OperandType(FLOAT32, shape)
    labels = node.temporary(OperandType(INT32, (images, found)), "classes")
    count = node.temporary(OperandType(INT32, (images,)), "count")
    node.emit(
        OperationCode.DETECTION_POSTPROCESSING if has_background else CompositeCode.DETECTION_POSTPROCESSING_V2,
        scores,
        deltas,
        anchors,
        *scales,
        node.flag(regular),
        *map(node.i32, limits),
        *(node.real(value, scores) for value in thresholds),
        *([node.flag(False)] if has_background else []),
        to=[scores_out, boxes_out, labels, count],
    )
    node.emit(OperationCode.CAST, labels, to=classes_out)
    node.emit(OperationCode.CAST, count, to=count_out)


@rule("NON_MAX_SUPPRESSION_V4", "NON_MAX_SUPPRESSION_V5")
def suppress(node: TfliteNode) -> None:
    """Lower the suppression of one class: indices, in V5 their scores, and their number; lists are padded with 0."""
    boxes, scores, limit = node.graph.real(node.input(0)), node.graph.real(node.input(1)), node.number(2)
    expressible(limit > 0, f"it keeps {limit} boxes, must be at least 1")
    numbers = [node.input(i).constant for i in range(3, node.count)]
    expressible(all(each.size == 1 for each in numbers), "its thresholds are not one number each")
    thresholds = [float(each.item()) for each in numbers]
    expressible(not any(thresholds[2:]), "it lowers scores by a soft suppression, NNAPI has none")
    count = node.static_shape_of(scores)[0]
    lines = node.reshape(boxes, (1, count, 4)), node.reshape(scores, (1, 1, count))
    thresholds[0] = float(np.nextafter(np.float32(thresholds[0]), np.float32(-np.inf)))  # it drops equal overlaps too
    scalars = [node.graph.scalar(OperandCode.FLOAT32, each) for each in thresholds[:2]]
    rows = node.apply(
        CompositeCode.NON_MAX_SUPPRESSION,
        *lines,
        node.i32(limit),
        *scalars,
        node.flag(False),
        type=OperandType(INT32),
        shape=(0, 3),
    )
    column = node.apply(OperationCode.GATHER, rows, node.i32(1), node.graph.ints([2]), shape=(0, 1))
    indices = node.reshape(column, (0,))
    found = node.apply(CompositeCode.SHAPE, indices, shape=(1,))
    bounds = node.graph.ints([0]), found, node.graph.ints([1])
    positions = node.apply(CompositeCode.RANGE, *bounds, type=OperandType(INT32), shape=(0,))
    lists = [indices]
    if node.kind == "NON_MAX_SUPPRESSION_V5":
        lists.append(node.apply(OperationCode.GATHER, scores, node.i32(0), indices, shape=(0,)))
    for i, values in enumerate(lists):
        zeros = node.graph.full(values.type.with_dimensions((limit,)))
        arguments = zeros, node.i32(0), positions, values, node.i32(Reduction.NONE), node.flag(False)
        node.deliver(node.apply(CompositeCode.SCATTER_ELEMENTS, *arguments, shape=(limit,)), i)
    node.deliver(found, len(lists))


class Parameters:
    def __init__(self, content: bytes) -> None:
        try:
            self._map = read_map(content)
        except BadDataError as error:
            raise BadDataError(f"its parameters cannot be read: {error.message}") from None

    def number(self, name: str, default: float | None = None) -> Any:
        """Return a number; raise BadDataError if it is not a number, or is missing and has no default."""
        need(name in self._map or default is not None, f"its parameters have no {name}", BadDataError)
        value = self._map.get(name, default)
        need(isinstance(value, int | float), f"its parameter {name} is {value!r}, must be a number", BadDataError)
        return value

    def indices(self, name: str) -> list[int]:
        """Return a vector of non-negative integers; raise BadDataError for anything else."""
        value = self._map.get(name)
        found = [each for each in value if isinstance(each, int) and each >= 0] if isinstance(value, tuple) else []
        need(
            found and isinstance(value, tuple) and len(found) == len(value),
            f"its parameter {name} is {value!r}, must be indices",
            BadDataError,
        )
        return found
