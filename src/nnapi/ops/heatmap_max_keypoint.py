"""HEATMAP_MAX_KEYPOINT: the positions and scores of the peaks of heat maps, within boxes."""

import numpy as np

from nnapi.codes import OperationCode
from nnapi.errors import need
from nnapi.model.facts import Facts, Trait
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import REQUIRED, Layout, Tensor
from nnapi.model.proposal import Draw, Proposal
from nnapi.ops.boxes import BESIDE, EIGHTHS, check_eighths, check_upright
from nnapi.ops.signature_types import FLOAT16, reals

HEATMAP_MAX_KEYPOINT = Operation(
    OperationCode.HEATMAP_MAX_KEYPOINT,
    facts=Facts(traits=Trait.ORDERS),
    inputs=(
        Tensor("heatmaps", reals(3), rank=4, late_rank=True, image=True),
        Tensor("boxes", like="heatmaps", via=BESIDE, rank=2, late_rank=True, since=3),
        Layout(default=REQUIRED),
    ),
    outputs=(Tensor("scores", like="heatmaps", since=3), Tensor("locations", like="boxes", quant=EIGHTHS, since=3)),
)


@HEATMAP_MAX_KEYPOINT.shape
def infer_shapes(heatmaps: OperandType, boxes: OperandType) -> list[Shape]:
    count, height, width, keypoints = heatmaps.shape
    need(height == width >= 2, f"heatmaps are {height} × {width} cells, must be square and at least 2 × 2")
    need(boxes.shape == (count, 4), f"boxes has shape {list(boxes.shape)}, must be [{count}, 4]")
    check_eighths(boxes=boxes)
    return [(count, keypoints), (count, keypoints, 2)]


@HEATMAP_MAX_KEYPOINT.kernel
def heatmap_max_keypoint(heatmaps: Array, boxes: Array, singular: float = 1e-5) -> tuple[Array, Array]:
    count, size, _, keypoints = heatmaps.shape
    check_upright("boxes", boxes)
    row, column = np.divmod(heatmaps.reshape(count, -1, keypoints).argmax(1), size)
    score, step = _refine(_neighborhood(heatmaps, row, column), singular)
    position = (np.stack([column, row], -1).astype(np.float32) + step + np.float32(0.5)) / np.float32(size)
    corner = boxes[:, None, :2]
    return score, corner + position * (boxes[:, None, 2:] - corner)


@HEATMAP_MAX_KEYPOINT.kernel(types=(FLOAT16,))
def heatmap_max_keypoint_half(heatmaps: Array, boxes: Array) -> tuple[Array, Array]:
    return heatmap_max_keypoint(heatmaps, boxes, singular=1e-3)


def _neighborhood(heatmaps: Array, row: Array, column: Array) -> Array:
    """Return the 3 × 3 cells around a cell of every heatmap, mirrored at the border: [box, keypoint, 3, 3]."""
    bordered = np.pad(heatmaps, ((0, 0), (1, 1), (1, 1), (0, 0)), mode="reflect")
    box = np.arange(heatmaps.shape[0])[:, None, None, None]
    keypoint = np.arange(heatmaps.shape[3])[:, None, None]
    around = np.arange(3)
    return bordered[box, row[..., None, None] + around[:, None], column[..., None, None] + around, keypoint]


def _refine(cells: Array, singular: float) -> tuple[Array, Array]:
    """Return the maximum of the paraboloid through the cells, and the step (x, y) from the middle to it.

    A step is at most 1.5 cells, and 0 if the paraboloid is nearly flat in some direction.
    """
    up, middle, down = cells[..., 0, 1], cells[..., 1, 1], cells[..., 2, 1]
    left, right = cells[..., 1, 0], cells[..., 1, 2]
    x, y = (right - left) / 2, (down - up) / 2
    xx, yy = left - 2 * middle + right, up - 2 * middle + down
    xy = (cells[..., 2, 2] - cells[..., 2, 0] - cells[..., 0, 2] + cells[..., 0, 0]) / 4
    determinant = xx * yy - xy * xy
    regular = ~(np.abs(determinant) < singular + singular * xx * yy)
    step = np.stack([xy * y - yy * x, xy * x - xx * y], -1) / determinant[..., None]
    step *= np.minimum(1, 1.5 / np.abs(step).max(-1, keepdims=True))
    step = np.where(regular[..., None], step, 0)
    dx, dy = step[..., 0], step[..., 1]
    return middle + x * dx + y * dy + (xx * dx * dx + 2 * xy * dx * dy + yy * dy * dy) / 2, step


@HEATMAP_MAX_KEYPOINT.proposal
def propose_keypoint(draw: Draw) -> Proposal:
    proposal, size = draw.proposal, draw.pick(2, 3, 5, 8)
    count, *_ = draw.image("heatmaps", n=draw.dimension(5), h=size, w=size, c=draw.dimension(8))
    proposal.shapes["boxes"] = (count, 4)
    return proposal
