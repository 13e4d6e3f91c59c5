"""Boxes of detection operations: the last axis is [x1, y1, x2, y2] or [y1, x1, y2, x2], in pixels of the image."""

from collections.abc import Callable

import numpy as np

from nnapi.codes import OperandCode
from nnapi.errors import need
from nnapi.model.operand import Array, OperandType
from nnapi.model.parameter import Levels, Scalar, ScalarParameter
from nnapi.ops.signature_types import FLOAT16, FLOAT32, FLOAT_SCALAR, QUANT8, QUANT8_SIGNED, QUANT16

BESIDE: dict[int, int | Levels] = {FLOAT32: FLOAT32, FLOAT16: FLOAT16, QUANT8: QUANT16, QUANT8_SIGNED: QUANT16}
"""Types of boxes by the type of the scores or feature map: 16-bit boxes for 8-bit tensors."""

EIGHTHS: dict[int, tuple[float, int]] = {QUANT16: (0.125, 0)}

Weaken = Callable[[Array, Array], tuple[Array, Array]]
"""Returns new scores and the remaining candidates for scores and overlaps with the chosen box."""


def float_scalar(name: str, like: str) -> ScalarParameter:
    """Return a float scalar parameter; it is FLOAT16 if the parameter ``like`` is float16."""
    return Scalar(name, like=like, via=FLOAT_SCALAR, since=3)


def int_scalar(name: str, check: Callable[[int], str | None] | None = None) -> ScalarParameter:
    return Scalar(name, OperandCode.INT32, since=3, check=check)


def check_eighths(**types: OperandType) -> None:
    for name, type in types.items():
        need(
            not type.is_quantized or (type.scale, type.zero_point) == (0.125, 0),
            f"{name} has scale {type.scale:g} and zero point {type.zero_point}, must have 0.125 and 0",
        )


def check_upright(name: str, boxes: Array) -> None:
    upright = (boxes[..., :2] <= boxes[..., 2:]).all(-1)
    if not upright.all():
        first = tuple(int(index) for index in np.argwhere(~upright)[0])
        need(False, f"{name} {list(first)} is {boxes[first].tolist()}, must not end before it starts")


def check_images(batch_index: Array, images: int) -> Array:
    """Return the image index of every box; raise OpFailedError unless all are in [0, images)."""
    bad = (batch_index < 0) | (batch_index >= images)
    if bad.any():
        need(False, f"batch_index holds {int(batch_index[bad][0])}, must be in [0, {images})")
    return batch_index.astype(np.intp)


def transform(boxes: Array, deltas: Array, image_info: Array) -> Array:
    """Move boxes by (dx, dy) times their size, scale them by exp(dw) and exp(dh), and clip them to (height, width)."""
    size = boxes[..., 2:] - boxes[..., :2]
    center = (boxes[..., :2] + boxes[..., 2:]) / 2 + deltas[..., :2] * size
    half = np.exp(deltas[..., 2:]) * size / 2
    limit = image_info[..., ::-1]
    return np.concatenate([np.clip(center - half, 0, limit), np.clip(center + half, 0, limit)], -1)


def area(box: Array) -> Array:
    return (box[..., 2] - box[..., 0]) * (box[..., 3] - box[..., 1])


def iou(a: Array, b: Array) -> Array:
    """Return the intersection over union of boxes; NaN for two boxes without area."""
    width = np.minimum(a[..., 2], b[..., 2]) - np.maximum(a[..., 0], b[..., 0])
    height = np.minimum(a[..., 3], b[..., 3]) - np.maximum(a[..., 1], b[..., 1])
    both = np.maximum(width, 0) * np.maximum(height, 0)
    return both / (area(a) + area(b) - both)


def drop_overlapping(iou_threshold: float) -> Weaken:
    return lambda scores, overlap: (scores, ~(overlap >= iou_threshold))


def suppress(scores: Array, boxes: Array, candidates: Array, weaken: Weaken, limit: int) -> tuple[Array, Array]:
    """Suppress non-maxima greedily along the last axis of ``scores``, independently along the others.

    ``boxes`` broadcast to the shape of ``scores`` and a trailing axis of 4. Each round chooses the best candidate, the
    first of equal ones, and applies ``weaken`` to the others. There are ``limit`` rounds, or if that is negative as
    many as there are candidates. Returns the final scores, and a mask of the chosen boxes.
    """
    scores, left = scores.copy(), candidates.copy()
    chosen = np.zeros_like(left)
    rounds = left.shape[-1] if limit < 0 else limit
    boxes = np.broadcast_to(boxes, (*left.shape, 4))
    while rounds and left.any():
        best = np.where(left, scores, -np.inf).argmax(-1)[..., None]
        running = np.take_along_axis(left, best, -1)  # false if no candidate is left
        np.put_along_axis(chosen, best, running | np.take_along_axis(chosen, best, -1), -1)
        np.put_along_axis(left, best, False, -1)
        weakened, stay = weaken(scores, iou(np.take_along_axis(boxes, best[..., None], -2), boxes))
        scores = np.where(left, weakened, scores)
        left &= stay
        rounds -= 1
    return scores, chosen


def sort_by_score(scores: Array, chosen: Array) -> Array:
    """Return indices along the last axis: chosen boxes first, by decreasing score."""
    return np.argsort(np.where(chosen, -scores, np.inf), -1, kind="stable")
