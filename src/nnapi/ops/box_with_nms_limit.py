"""BOX_WITH_NMS_LIMIT: the best boxes of each class after non-maximum suppression."""

from typing import Any

import numpy as np

from nnapi.codes import OperationCode
from nnapi.errors import need
from nnapi.model.facts import Facts, Trait
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import Tensor, one_of
from nnapi.model.proposal import Draw, Proposal
from nnapi.ops.boxes import (
    BESIDE,
    EIGHTHS,
    Weaken,
    check_eighths,
    check_upright,
    float_scalar,
    int_scalar,
    sort_by_score,
    suppress,
)
from nnapi.ops.shapes import need_shape
from nnapi.ops.signature_types import INT32, reals

HARD, LINEAR, GAUSSIAN = range(3)

BOX_WITH_NMS_LIMIT = Operation(
    OperationCode.BOX_WITH_NMS_LIMIT,
    facts=Facts(traits=Trait.ORDERS, rounded_first=0.5),
    inputs=(
        Tensor("scores", reals(3), rank=2, late_rank=True),
        Tensor("boxes", like="scores", via=BESIDE, rank=2, late_rank=True, since=3),
        Tensor("batch_index", INT32, rank=1, late_rank=True, since=3),
        float_scalar("score_threshold", like="scores"),
        int_scalar("max_boxes"),
        int_scalar("nms_kernel", check=one_of(HARD, LINEAR, GAUSSIAN)),
        float_scalar("iou_threshold", like="scores"),
        float_scalar("sigma", like="scores"),
        float_scalar("nms_score_threshold", like="scores"),
    ),
    outputs=(
        Tensor("scores_out", like="scores", quant="scores", since=3),
        Tensor("boxes_out", like="boxes", quant=EIGHTHS, since=3),
        Tensor("classes", INT32, since=3),
        Tensor("batches", INT32, since=3),
    ),
    zero_sized=True,
)


@BOX_WITH_NMS_LIMIT.shape
def infer_shapes(
    scores: OperandType, boxes: OperandType, batch_index: OperandType, **numbers: float
) -> list[tuple[int | None, ...]]:
    rois, classes = scores.shape
    need(classes > 1, f"scores has {classes} classes, must have the background and more")
    need(boxes.shape == (rois, 4 * classes), f"boxes has shape {list(boxes.shape)}, must be [{rois}, {4 * classes}]")
    need_shape("batch_index", batch_index, (rois,))
    check_eighths(boxes=boxes)
    return [(None,), (None, 4), (None,), (None,)]


@BOX_WITH_NMS_LIMIT.kernel
def box_with_nms_limit(
    scores: Array, boxes: Array, batch_index: Array, score_threshold: float, max_boxes: int, **suppression: Any
) -> tuple[Array, Array, Array, Array]:
    rois, classes = scores.shape
    corners = boxes.reshape(rois, classes, 4)
    check_upright("boxes", corners)
    image = np.cumsum(np.diff(batch_index, prepend=batch_index[:1]) != 0)  # adjacent regions of one index are one image
    images = np.arange(image.max(initial=-1) + 1)
    candidates = (score_threshold < scores.T) & (image == images[:, None])[:, None]
    candidates[:, 0] = False  # class 0 is the background
    weaken = _choose_weakening(**suppression)
    races = np.broadcast_to(scores.T, candidates.shape)
    final, chosen = suppress(races, corners.transpose(1, 0, 2), candidates, weaken, max_boxes)

    flat = (len(images), classes * rois)
    order = sort_by_score(final.reshape(flat), chosen.reshape(flat))[:, : max_boxes if max_boxes >= 0 else None]
    label, roi = np.divmod(order, max(rois, 1))
    owner = np.broadcast_to(images[:, None], order.shape)
    found = chosen[owner, label, roi]
    score, label, roi, owner = final[owner, label, roi][found], label[found], roi[found], owner[found]
    by_class = np.lexsort((-score, label, owner))
    label, roi = label[by_class], roi[by_class]
    return score[by_class], corners[roi, label], label, batch_index[roi]


def _choose_weakening(nms_kernel: int, iou_threshold: float, sigma: float, nms_score_threshold: float) -> Weaken:
    """Return the function that weakens scores by overlap and drops those below the threshold."""

    def weaken(scores: Array, overlap: Array) -> tuple[Array, Array]:
        if nms_kernel == GAUSSIAN:
            factor = np.exp(-overlap * overlap / sigma)
        else:
            factor = np.where(overlap < iou_threshold, 1, 1 - overlap if nms_kernel == LINEAR else 0)
        weakened = scores * factor.astype(scores.dtype, copy=False)
        return weakened, ~(weakened < nms_score_threshold)

    return weaken


@BOX_WITH_NMS_LIMIT.proposal
def propose_nms_limit(draw: Draw) -> Proposal:
    count, classes = draw.dimension(17), draw.pick(2, 3, 5)
    shapes: dict[str, Shape] = {"scores": (count, classes), "boxes": (count, 4 * classes)}
    scalars = draw.shares("score_threshold", "iou_threshold", "sigma", "nms_score_threshold")
    scalars |= draw.counts("max_boxes") | {"nms_kernel": draw.upto(2)}
    return Proposal(shapes, scalars, {"batch_index": sorted(draw.upto(2) for _ in range(count))})
