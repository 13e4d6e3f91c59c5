"""Accuracy of outputs by the metrics of NNAPI's benchmark suite: top-1 and top-5, mAP, mean squared error."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nnapi.model.operand import Array, OperandType
from nnapi.ops.boxes import iou
from nnapi.report.result import Agreement

IOU_THRESHOLDS = tuple(round(0.5 + 0.05 * step, 2) for step in range(10))
RECALLS = np.linspace(0, 1, 101)
"""The recalls at which COCO samples the precision."""


@dataclass(frozen=True)
class Boxes:
    """Boxes: ``corners`` [N, 4] as ymin, xmin, ymax, xmax, ``classes`` [N], and ``scores`` [N] of detected boxes."""

    corners: Array
    classes: Array
    scores: Array


def measure_agreement(
    types: Sequence[OperandType], expected: Sequence[Array], found: Sequence[Array]
) -> Agreement | None:
    """Return the difference of outputs ``found`` from the reference's ``expected``; None if they are empty.

    Raises ValueError if sizes differ, or if a value is not finite and differs from the reference's.
    """
    if len(expected) != len(found):
        raise ValueError(f"there are {len(found)} outputs, the reference has {len(expected)}")
    distances, relative = [], 0.0
    for number, (right, given) in enumerate(zip(expected, found, strict=True)):
        if right.size != given.size:
            raise ValueError(f"output {number} has shape {list(given.shape)}, the reference's {list(right.shape)}")
        wanted, got = (array.astype(np.float64).reshape(-1) for array in (right, given))
        same = (wanted == got) | (np.isnan(wanted) & np.isnan(got))
        with np.errstate(invalid="ignore"):
            distance = np.where(same, 0.0, np.abs(wanted - got))
        if not np.isfinite(distance).all():
            position = int(np.argmin(np.isfinite(distance)))
            raise ValueError(f"value {position} of an output is {got[position]}, the reference's {wanted[position]}")
        relative = max(relative, float(distance.max(initial=0)) / (float(np.abs(wanted).max(initial=0)) or 1.0))
        distances.append(distance)
    every = np.concatenate(distances)
    if not every.size:
        return None
    unit = "steps" if all(type.is_quantized for type in types) else "floats"
    return Agreement(float(every.max()), float(every.mean()), np.count_nonzero(every) / every.size, relative, unit)


def is_in_top(scores: Array, label: int, count: int) -> bool:
    """Return whether the label is among the ``count`` best classes; of equal scores, the lower class ranks first."""
    return label in np.argsort(-scores.reshape(-1).astype(np.float64), kind="stable")[:count]


def classification(outputs: Sequence[Array], labels: Sequence[int]) -> Mapping[str, float]:
    """Return top-1 and top-5 accuracy: the shares of inputs whose label is the best class or one of the best five."""
    pairs = list(zip(outputs, labels, strict=True))
    return {f"top-{n}": float(np.mean([is_in_top(scores, label, n) for scores, label in pairs])) for n in (1, 5)}


def squared_error(outputs: Sequence[Sequence[Array]], expected: Sequence[Sequence[Array]]) -> Mapping[str, float]:
    """Return the mean squared difference over all inputs and values. Raises ValueError if shapes differ."""
    total, count = 0.0, 0
    for found, wanted in zip(outputs, expected, strict=True):
        for got, want in zip(found, wanted, strict=True):
            if got.size != want.size:
                raise ValueError(f"an output has shape {list(got.shape)}, the expected one {list(want.shape)}")
            difference = got.astype(np.float64).reshape(-1) - want.astype(np.float64).reshape(-1)
            total += float((difference**2).sum())
            count += difference.size
    return {"mean squared error": total / count}


def detection(found: Sequence[Boxes], given: Sequence[Boxes]) -> Mapping[str, float]:
    """Return COCO's mean average precision: over ten overlaps (IoU) from 0.5 to 0.95, and at 0.5 alone."""
    classes = sorted({int(c) for boxes in given for c in boxes.classes})
    table = np.array([[_average_precision(found, given, c, iou) for c in classes] for iou in IOU_THRESHOLDS])
    return {"mAP@[.5:.95]": float(table.mean()), "mAP@.5": float(table[0].mean())}


def _average_precision(found: Sequence[Boxes], given: Sequence[Boxes], number: int, iou: float) -> float:
    """Return the average precision of class ``number``: the mean of its precision at COCO's recalls."""
    scores: list[Array] = []
    hits: list[Array] = []
    wanted = 0
    for ours, theirs in zip(found, given, strict=True):
        truth = theirs.corners[theirs.classes == number]
        chosen = ours.classes == number
        order = np.argsort(-ours.scores[chosen], kind="stable")
        scores.append(ours.scores[chosen][order])
        hits.append(_match(ours.corners[chosen][order], truth, iou))
        wanted += len(truth)
    order = np.argsort(-np.concatenate(scores), kind="stable")
    right = np.cumsum(np.concatenate(hits)[order])
    if not right.size:
        return 0.0
    precision = right / np.arange(1, right.size + 1)
    envelope = np.maximum.accumulate(precision[::-1])[::-1]
    indices = np.searchsorted(right / wanted, RECALLS - 1e-12)
    return float(np.append(envelope, 0.0)[indices].mean())


def _match(boxes: Array, truth: Array, iou: float) -> Array:
    """Return whether each box, best first, matches a given box that no better one has matched."""
    overlaps = overlap(boxes, truth)
    hits = np.zeros(len(boxes), bool)
    for number in range(len(boxes) if len(truth) else 0):
        best = int(overlaps[number].argmax())
        if overlaps[number, best] >= iou:
            hits[number] = True
            overlaps[:, best] = -1.0
    return hits


def overlap(a: Array, b: Array) -> Array:
    """Return the intersection over union of each box in ``a`` [N, 4] with each box in ``b`` [M, 4], as [N, M]."""
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(iou(a[:, None], b[None]))  # boxes without area overlap nothing
