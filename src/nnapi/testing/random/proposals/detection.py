"""Proposals for operations on boxes, and on tensors whose elements have fixed meanings."""

from typing import Any

from nnapi.model.operand import Shape
from nnapi.testing.random.proposals.proposal import Draw, Proposal, proposes


def _counts(draw: Draw, *names: str) -> dict[str, Any]:
    return {name: draw.pick(1, 2, 5, 20) for name in names}


def _shares(draw: Draw, *names: str) -> dict[str, Any]:
    return {name: float(draw.rng.uniform(0, 1)) for name in names if name in draw.names}


@proposes("ROI_ALIGN", "ROI_POOLING")
def propose_roi(draw: Draw) -> Proposal:
    proposal, dimensions = draw.proposal, {"n": draw.pick(1, 2), "h": draw.dimension(17), "w": draw.dimension(17)}
    image = draw.image("feature_map", c=draw.dimension(8), **dimensions)
    count = draw.dimension(8)
    proposal.shapes |= {"rois": (count, 4), "batch_index": (count,)}
    proposal.numbers["batch_index"] = sorted(draw.upto(image[0] - 1) for _ in range(count))
    proposal.scalars |= {name: draw.pick(1, 2, 3, 7) for name in ("out_height", "out_width")}
    proposal.scalars |= {name: draw.pick(1.0, 2.0, 0.5, 0.1) for name in ("height_ratio", "width_ratio")}
    return proposal


@proposes("AXIS_ALIGNED_BBOX_TRANSFORM")
def propose_bbox_transform(draw: Draw) -> Proposal:
    count, images = draw.dimension(17), draw.pick(1, 2, 3)
    shapes: dict[str, Shape] = {
        "rois": (count, 4),
        "deltas": (count, 4 * draw.pick(1, 2, 5)),
        "image_info": (images, 2),
    }
    return Proposal(shapes, numbers={"batch_index": sorted(draw.upto(images - 1) for _ in range(count))})


@proposes("BOX_WITH_NMS_LIMIT")
def propose_nms_limit(draw: Draw) -> Proposal:
    count, classes = draw.dimension(17), draw.pick(2, 3, 5)
    shapes: dict[str, Shape] = {"scores": (count, classes), "boxes": (count, 4 * classes)}
    scalars = _shares(draw, "score_threshold", "iou_threshold", "sigma", "nms_score_threshold")
    scalars |= _counts(draw, "max_boxes") | {"nms_kernel": draw.upto(2)}
    return Proposal(shapes, scalars, {"batch_index": sorted(draw.upto(2) for _ in range(count))})


@proposes("GENERATE_PROPOSALS")
def propose_box_proposals(draw: Draw) -> Proposal:
    proposal, anchors = draw.proposal, draw.pick(1, 2, 3)
    dimensions = {"n": draw.pick(1, 2), "h": draw.dimension(5), "w": draw.dimension(5)}
    n, h, w, anchors = draw.image("scores", c=anchors, **dimensions)
    proposal.shapes["deltas"] = draw.store((n, h, w, 4 * anchors))
    proposal.shapes |= {"anchors": (anchors, 4), "image_info": (n, 2)}
    proposal.scalars |= _counts(draw, "pre_nms_max", "post_nms_max") | _shares(draw, "iou_threshold")
    proposal.scalars |= {"height_stride": draw.pick(1.0, 4.0), "width_stride": draw.pick(1.0, 4.0), "min_size": 0.1}
    return proposal


@proposes("DETECTION_POSTPROCESSING")
def propose_detection(draw: Draw) -> Proposal:
    images, cells, classes = draw.pick(1, 2), draw.dimension(17), draw.pick(2, 3, 5)
    shapes: dict[str, Shape] = {"scores": (images, cells, classes), "anchors": (cells, 4)}
    shapes["deltas"] = (images, cells, draw.pick(4, 4, 7))
    scalars = _counts(draw, "max_num_detections", "max_classes_per_detection", "max_detections_per_class")
    scales = {f"scale_{side}": draw.pick(1.0, 5.0, 10.0) for side in ("y", "x", "h", "w")}
    return Proposal(shapes, scalars | scales | _shares(draw, "score_threshold", "iou_threshold"))


@proposes("HEATMAP_MAX_KEYPOINT")
def propose_keypoint(draw: Draw) -> Proposal:
    proposal, size = draw.proposal, draw.pick(2, 3, 5, 8)
    count, *_ = draw.image("heatmaps", n=draw.dimension(5), h=size, w=size, c=draw.dimension(8))
    proposal.shapes["boxes"] = (count, 4)
    return proposal


@proposes("RANDOM_MULTINOMIAL")
def propose_multinomial(draw: Draw) -> Proposal:
    shapes: dict[str, Shape] = {"logits": (draw.dimension(5), draw.dimension(17))}
    return Proposal(shapes, {"sample_count": draw.dimension(33)}, {"seeds": [draw.upto(9), draw.upto(9)]})


@proposes("LSH_PROJECTION")
def propose_lsh_projection(draw: Draw) -> Proposal:
    items = draw.dimension(17)
    shapes: dict[str, Shape] = {"hash": (draw.dimension(5), draw.dimension(8)), "input": (items, draw.dimension(8))}
    return Proposal(shapes | {"weight": (items,)}, {"type": draw.pick(1, 2, 3)})


@proposes("NON_MAX_SUPPRESSION")
def propose_suppression(draw: Draw) -> Proposal:
    batches, count = draw.pick(1, 2), draw.dimension(33)
    shapes: dict[str, Shape] = {"boxes": (batches, count, 4), "scores": (batches, draw.pick(1, 2, 5), count)}
    scalars: dict[str, Any] = {"max_boxes": draw.pick(0, 1, 5, 40)}
    return Proposal(shapes, scalars | _shares(draw, "iou_threshold", "score_threshold"))
