"""Comparison of detections, whose order depends on rounding where scores are nearly equal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

LEAST = 0.999
"""The least overlap (intersection over union) of boxes that count as the same."""
TOLERANCE = 1e-4
"""The largest difference of scores, masks, and corners of boxes without an area, relative to the largest value."""


def compare(ours: Sequence[Any], theirs: Sequence[Any]) -> str:
    """Compare boxes, scores, labels and masks: return "same boxes", or how many boxes have no equal."""
    same = _find_same(ours, theirs)
    missing = int((~same.any(0)).sum()), int((~same.any(1)).sum())
    if any(missing):
        return f"{missing[0]} of {same.shape[1]} boxes are missing, {missing[1]} are others"
    return "same boxes"


def _find_same(ours: Sequence[Any], theirs: Sequence[Any]) -> Any:
    """Return whether two detections are the same, [ours, theirs]."""
    boxes, scores, labels = (np.asarray(each)[:, None] for each in ours[:3])
    other_boxes, other_scores, other_labels = theirs[:3]
    reach = TOLERANCE * max(np.abs(other_boxes).max(initial=0), 1e-30)
    is_close = (np.abs(boxes - other_boxes) <= reach).all(-1)
    same = (is_close | (_overlap(boxes, other_boxes) >= LEAST)) & (labels == other_labels)
    same &= np.abs(scores - other_scores) <= TOLERANCE * max(np.abs(other_scores).max(initial=0), 1e-30)
    for masks, other_masks in zip(ours[3:], theirs[3:], strict=True):
        for i, k in np.argwhere(same):
            same[i, k] = np.abs(masks[i] - other_masks[k]).max() <= TOLERANCE * np.abs(other_masks).max()
    return same


def _overlap(boxes: Any, others: Any) -> Any:
    low, high = np.maximum(boxes[..., :2], others[..., :2]), np.minimum(boxes[..., 2:], others[..., 2:])
    common = (high - low).clip(0).prod(-1)
    areas = ((each[..., 2:] - each[..., :2]).clip(0).prod(-1) for each in (boxes, others))
    return common / np.maximum(sum(areas) - common, 1e-30)
