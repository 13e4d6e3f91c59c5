"""Lowering rules for NON_MAX_SUPPRESSION."""

import numpy as np

from nnapi.drivers.openvino.api import op
from nnapi.drivers.openvino.context import OpenvinoContext, lower
from nnapi.drivers.openvino.value import Value, number
from nnapi.lowering.refusal import require
from nnapi.operation_codes import CompositeCode as Composite

SMALLEST = float(np.finfo(np.float32).smallest_normal)
"""The engine takes smaller numbers for 0."""


@lower(Composite.NON_MAX_SUPPRESSION)
def suppress(
    context: OpenvinoContext,
    boxes: Value,
    scores: Value,
    max_boxes: int,
    iou_threshold: float,
    score_threshold: float,
    centered: bool,
) -> Value:
    """The engine suppresses boxes whose overlap equals the threshold, too."""
    require(max_boxes > 0, "it keeps no box, which the engine does not support")
    above = np.nextafter(np.float32(iou_threshold), np.float32(np.inf))
    above = float(above if abs(above) >= SMALLEST else SMALLEST)
    found = op.non_max_suppression(
        boxes.real(),
        scores.real(),
        op.constant(np.int32(max_boxes)),
        number(above),
        number(score_threshold),
        box_encoding="center" if centered else "corner",
        sort_result_descending=False,
        output_type="i32",
    )
    return Value.of(found.output(0), context.type(), "stored")
