"""GENERATE_PROPOSALS: region proposals from scores and box deltas at anchors."""

import numpy as np

from nnapi.codes import OperationCode
from nnapi.errors import need
from nnapi.model.facts import Facts, Trait
from nnapi.model.operand import Array, OperandType
from nnapi.model.operation import Operation
from nnapi.model.parameter import REQUIRED, Layout, Tensor
from nnapi.model.proposal import Draw, Proposal
from nnapi.ops.boxes import (
    BESIDE,
    EIGHTHS,
    check_eighths,
    check_upright,
    drop_overlapping,
    float_scalar,
    int_scalar,
    suppress,
    transform,
)
from nnapi.ops.signature_types import FLOAT16, FLOAT32, INT32, QUANT8, QUANT8_SIGNED, QUANT16_SYMM, reals

GENERATE_PROPOSALS = Operation(
    OperationCode.GENERATE_PROPOSALS,
    facts=Facts(traits=Trait.ORDERS),
    inputs=(
        Tensor("scores", reals(3), rank=4, late_rank=True, image=True),
        Tensor("deltas", like="scores", rank=4, late_rank=True, image=True, since=3),
        Tensor(
            "anchors",
            like="scores",
            via={FLOAT32: FLOAT32, FLOAT16: FLOAT16, QUANT8: QUANT16_SYMM, QUANT8_SIGNED: QUANT16_SYMM},
            rank=2,
            late_rank=True,
            since=3,
        ),
        Tensor("image_info", like="scores", via=BESIDE, rank=2, late_rank=True, since=3),
        float_scalar("height_stride", like="scores"),
        float_scalar("width_stride", like="scores"),
        int_scalar("pre_nms_max"),
        int_scalar("post_nms_max"),
        float_scalar("iou_threshold", like="scores"),
        float_scalar("min_size", like="scores"),
        Layout(default=REQUIRED),
    ),
    outputs=(
        Tensor("scores_out", like="scores", quant="scores", since=3),
        Tensor("boxes", like="image_info", quant=EIGHTHS, since=3),
        Tensor("batches", INT32, since=3),
    ),
)


@GENERATE_PROPOSALS.shape
def infer_shapes(
    scores: OperandType, deltas: OperandType, anchors: OperandType, image_info: OperandType, **numbers: float
) -> list[tuple[int | None, ...]]:
    *cells, shapes = scores.shape
    need(
        deltas.shape == (*cells, 4 * shapes),
        f"deltas has shape {list(deltas.shape)}, must be {[*cells, 4 * shapes]} (as NHWC)",
    )
    need(anchors.shape == (shapes, 4), f"anchors has shape {list(anchors.shape)}, must be [{shapes}, 4]")
    need(image_info.shape == (cells[0], 2), f"image_info has shape {list(image_info.shape)}, must be [{cells[0]}, 2]")
    check_eighths(anchors=anchors, image_info=image_info)
    return [(None,), (None, 4), (None,)]


@GENERATE_PROPOSALS.kernel
def generate_proposals(
    scores: Array,
    deltas: Array,
    anchors: Array,
    image_info: Array,
    height_stride: float,
    width_stride: float,
    pre_nms_max: int,
    post_nms_max: int,
    iou_threshold: float,
    min_size: float,
) -> tuple[Array, Array, Array]:
    images, height, width, shapes = scores.shape
    check_upright("anchors", anchors)
    x, y = np.meshgrid(np.arange(width) * width_stride, np.arange(height) * height_stride)
    shifted = anchors + np.stack([x, y, x, y], -1).astype(anchors.dtype)[:, :, None]
    info = image_info.reshape(images, 1, 1, 1, 2)
    boxes = transform(shifted, deltas.reshape(images, height, width, shapes, 4), info).reshape(images, -1, 4)

    scores = scores.reshape(images, -1)
    order = np.argsort(-scores, -1, kind="stable")[:, : pre_nms_max if pre_nms_max > 0 else None]
    scores, boxes = np.take_along_axis(scores, order, -1), np.take_along_axis(boxes, order[..., None], -2)
    size = boxes[..., 2:] - boxes[..., :2]
    inside = boxes[..., :2] + size / 2 < image_info[:, None, ::-1]
    candidates = ((size > min_size) & inside).all(-1)
    _, chosen = suppress(scores, boxes, candidates, drop_overlapping(iou_threshold), post_nms_max)
    return scores[chosen], boxes[chosen], np.nonzero(chosen)[0]


@GENERATE_PROPOSALS.proposal
def propose_box_proposals(draw: Draw) -> Proposal:
    proposal, anchors = draw.proposal, draw.pick(1, 2, 3)
    dimensions = {"n": draw.pick(1, 2), "h": draw.dimension(5), "w": draw.dimension(5)}
    n, h, w, anchors = draw.image("scores", c=anchors, **dimensions)
    proposal.shapes["deltas"] = draw.store((n, h, w, 4 * anchors))
    proposal.shapes |= {"anchors": (anchors, 4), "image_info": (n, 2)}
    proposal.scalars |= draw.counts("pre_nms_max", "post_nms_max") | draw.shares("iou_threshold")
    proposal.scalars |= {"height_stride": draw.pick(1.0, 4.0), "width_stride": draw.pick(1.0, 4.0), "min_size": 0.1}
    return proposal
