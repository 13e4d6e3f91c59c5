"""Probabilities of classes from the scores of each pair of classes, as LIBSVM computes them.

The method is the second of "Probability Estimates for Multi-class Classification by Pairwise Coupling" (Wu, Lin, Weng).
Each sweep over the classes improves an estimate; rows whose estimate is good enough keep it.
"""

from collections.abc import Sequence

import numpy as np

from nnapi.importers.onnx.node import OnnxNode
from nnapi.importers.onnx.rule_results import compose
from nnapi.importers.onnx.tensors import OnnxTensor
from nnapi.importers.refusals import expressible

SWEEPS = 10
"""The largest number of sweeps. LIBSVM permits 100; two or three suffice for most rows."""
MOST_CLASSES = 10
GOOD_ENOUGH = 0.005
"""The error, times the number of classes, at which a row's estimate is kept."""
LEAST = 1e-7
"""The least probability of a pair."""


def estimate_probabilities(
    node: OnnxNode, scores: OnnxTensor, pairs: Sequence[tuple[int, int]], classes: int
) -> OnnxTensor:
    """Return the probability of each class. The node has the parameters of each pair's sigmoid, prob_a and prob_b."""
    is_small = classes <= MOST_CLASSES
    expressible(is_small, f"the probabilities of {classes} classes are iterated; at most {MOST_CLASSES} are unrolled")
    slopes, offsets = (np.array(node.attribute(name), np.float32) for name in ("prob_a", "prob_b"))
    inner = compose(node, "Add", compose(node, "Mul", scores, slopes), offsets)
    likely = compose(node, "Clip", compose(node, "Sigmoid", compose(node, "Neg", inner)), LEAST, 1 - LEAST)
    matrix = _lay_out(node, likely, pairs, classes)
    squares = compose(node, "Mul", matrix, matrix)
    diagonal = compose(node, "ReduceSum", squares, [1], keepdims=0)
    products = compose(node, "Mul", matrix, compose(node, "Transpose", matrix, perm=[0, 2, 1]))
    eye = np.eye(classes, dtype=np.float32)
    spread = compose(node, "Mul", compose(node, "Unsqueeze", diagonal, [2]), eye[None])
    system = compose(node, "Sub", spread, products)
    estimate = compose(node, "Add", compose(node, "Mul", diagonal, 0.0), 1.0 / classes)
    for _ in range(SWEEPS):
        estimate = _sweep(node, system, diagonal, estimate, classes)
    return estimate


def _lay_out(node: OnnxNode, likely: OnnxTensor, pairs: Sequence[tuple[int, int]], classes: int) -> OnnxTensor:
    """Return a matrix for each row: the probability of class i beside class j, 0 on the diagonal."""
    signs, ones = (np.zeros((count, classes, classes), np.float32) for count in (len(pairs), 1))
    for k, (i, j) in enumerate(pairs):
        signs[k, i, j], signs[k, j, i], ones[0, j, i] = 1, -1, 1
    flat = compose(node, "MatMul", likely, signs.reshape(len(pairs), -1))
    flat = compose(node, "Add", flat, ones.reshape(1, -1))
    return compose(node, "Reshape", flat, [-1, classes, classes])


def _sweep(node: OnnxNode, system: OnnxTensor, diagonal: OnnxTensor, before: OnnxTensor, classes: int) -> OnnxTensor:
    """Improve each probability in turn, in rows whose error is not small enough."""
    errors = compose(node, "Squeeze", compose(node, "MatMul", system, compose(node, "Unsqueeze", before, [2])), [2])
    mean = compose(node, "ReduceSum", compose(node, "Mul", before, errors), [1], keepdims=1)
    distance = compose(node, "Abs", compose(node, "Sub", errors, mean))
    largest = compose(node, "ReduceMax", distance, [1], keepdims=1)
    estimate = before
    for t in range(classes):
        own, scale = (compose(node, "Gather", each, [t], axis=1) for each in (errors, diagonal))
        step = compose(node, "Div", compose(node, "Sub", mean, own), scale)
        total = compose(node, "Add", step, 1.0)
        gained = compose(node, "Add", compose(node, "Mul", step, scale), compose(node, "Mul", own, 2.0))
        mean = compose(node, "Add", mean, compose(node, "Mul", step, gained))
        mean = compose(node, "Div", compose(node, "Div", mean, total), total)
        row = compose(node, "Squeeze", compose(node, "Gather", system, [t], axis=1), [1])
        errors = compose(node, "Div", compose(node, "Add", errors, compose(node, "Mul", row, step)), total)
        unit = np.eye(classes, dtype=np.float32)[t : t + 1]
        estimate = compose(node, "Div", compose(node, "Add", estimate, compose(node, "Mul", step, unit)), total)
    is_rough = compose(node, "GreaterOrEqual", largest, GOOD_ENOUGH / classes)
    return compose(node, "Where", is_rough, estimate, before)
