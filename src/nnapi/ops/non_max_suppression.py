"""NON_MAX_SUPPRESSION: the indices of boxes that overlap no better box of their class by more than a threshold.

Boxes are [y1, x1, y2, x2] with any two opposite corners, or with ``centered`` [x, y, width, height]. Each row of the
result is [batch, class, box]; the rows of a class are in the order of decreasing scores.
"""

import numpy as np

from nnapi.codes import OperandCode
from nnapi.errors import need
from nnapi.model.facts import Facts, Trait
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import Scalar, Tensor, not_negative
from nnapi.model.proposal import Draw, Proposal
from nnapi.operation_codes import CompositeCode
from nnapi.ops.boxes import int_scalar, iou
from nnapi.ops.shapes import need_shape
from nnapi.ops.signature_types import INT32, floats

BLOCK = 256

NON_MAX_SUPPRESSION = Operation(
    CompositeCode.NON_MAX_SUPPRESSION,
    facts=Facts(traits=Trait.ORDERS),
    inputs=(
        Tensor("boxes", floats(3), rank=3, late_rank=True),
        Tensor("scores", like="boxes", rank=3, late_rank=True, since=3),
        int_scalar("max_boxes", check=not_negative),
        Scalar("iou_threshold", OperandCode.FLOAT32, since=3),
        Scalar("score_threshold", OperandCode.FLOAT32, since=3),
        Scalar("centered", OperandCode.BOOL, since=3),
    ),
    outputs=(Tensor("selected", INT32, since=3),),
)


@NON_MAX_SUPPRESSION.shape
def infer_shape(boxes: OperandType, scores: OperandType, max_boxes: int, **options: float) -> tuple[int | None, ...]:
    batches, count, corners = boxes.shape
    need(corners == 4, f"boxes has {corners} columns, must have 4")
    need_shape("scores", scores, (batches, scores.shape[1], count))
    return None, 3


@NON_MAX_SUPPRESSION.kernel
def non_max_suppression(
    boxes: Array, scores: Array, max_boxes: int, iou_threshold: float, score_threshold: float, centered: bool
) -> Array:
    upright, rows = _find_corners(boxes, centered), []
    for batch, category in np.ndindex(scores.shape[:2]):
        own = scores[batch, category]
        candidates = np.flatnonzero(own > np.float32(score_threshold))
        order = candidates[np.argsort(-own[candidates], kind="stable")]
        rows += [(batch, category, order[i]) for i in _suppress(upright[batch, order], iou_threshold, max_boxes)]
    return np.array(rows, np.int32).reshape(-1, 3)


def _suppress(boxes: Array, iou_threshold: float, limit: int) -> list[int]:
    """Return the indices of the boxes that overlap no kept box before them by more than the threshold.

    Overlaps are computed for a block of boxes at once, because a call of NumPy takes longer than a few hundred of them.
    """
    kept: list[int] = []
    for start in range(0, len(boxes), BLOCK):
        block = boxes[start : start + BLOCK]
        left = np.asarray(~(iou(boxes[kept, np.newaxis], block) > iou_threshold).any(0))
        apart = ~(iou(block[:, np.newaxis], block) > iou_threshold)
        for i in range(len(block)):
            if len(kept) == limit:
                return kept
            if left[i]:
                kept.append(start + i)
                left &= apart[i]
    return kept


def _find_corners(boxes: Array, centered: bool) -> Array:
    """Return the lowest and the highest corner of each box."""
    first, second = boxes[..., :2], boxes[..., 2:]
    if centered:
        first, second = first - second / 2, first + second / 2
    return np.concatenate([np.minimum(first, second), np.maximum(first, second)], -1)


@NON_MAX_SUPPRESSION.proposal
def propose_suppression(draw: Draw) -> Proposal:
    batches, count = draw.pick(1, 2), draw.dimension(33)
    shapes: dict[str, Shape] = {"boxes": (batches, count, 4), "scores": (batches, draw.pick(1, 2, 5), count)}
    scalars = {"max_boxes": draw.pick(0, 1, 5, 40)}
    return Proposal(shapes, scalars | draw.shares("iou_threshold", "score_threshold"))
