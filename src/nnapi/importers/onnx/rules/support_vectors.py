"""Support vector machines of ai.onnx.ml, composed of ONNX's operators."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from nnapi.importers.onnx.node import OnnxNode
from nnapi.importers.onnx.operators import Result, rule
from nnapi.importers.onnx.pairwise_coupling import estimate_probabilities
from nnapi.importers.onnx.rule_results import compose
from nnapi.importers.onnx.rules.estimators import as_float, choose_label, floats, integer_labels, transform
from nnapi.importers.onnx.tensors import FLOAT, OnnxTensor
from nnapi.importers.refusals import expressible
from nnapi.model.operand import Array


@rule("ai.onnx.ml:SVMRegressor")
def svm_regressor(node: OnnxNode) -> Result:
    coefficients = floats(node, "coefficients")
    count = int(node.attribute("n_supports", 0))
    inner = _apply_kernel(node, count) if count else as_float(node)
    found = compose(node, "MatMul", inner, coefficients.reshape(-1, 1))
    found = compose(node, "Add", found, floats(node, "rho")[:1])
    if node.attribute("one_class", 0):
        above = compose(node, "Cast", compose(node, "Greater", found, 0.0), to=FLOAT)
        return compose(node, "Sub", compose(node, "Mul", above, 2.0), 1.0)
    return transform(node, found)


@rule("ai.onnx.ml:SVMClassifier")
def svm_classifier(node: OnnxNode) -> Sequence[Result | None]:
    """Lower SVMClassifier: each pair of classes has a score, whose sign is a vote for one of them."""
    labels = integer_labels(node, "classlabels_ints")
    counts = node.attribute("vectors_per_class") or []
    expressible(counts, "it has no support vectors: a linear model without pairs of classes")
    pairs = list(combinations(range(len(counts)), 2))
    weights = _weigh_pairs(floats(node, "coefficients"), counts, pairs)
    scores = compose(node, "MatMul", _apply_kernel(node, sum(counts)), weights)
    scores = compose(node, "Add", scores, floats(node, "rho"))
    label = choose_label(node, labels, _count_votes(node, scores, pairs, len(counts)))
    if node.attribute("prob_a"):
        return [label, transform(node, estimate_probabilities(node, scores, pairs, len(counts)))]
    if len(pairs) == 1:
        scores = compose(node, "Concat", compose(node, "Neg", scores), scores, axis=1)
    return [label, transform(node, scores)]


def _weigh_pairs(coefficients: Array, counts: Sequence[int], pairs: Sequence[tuple[int, int]]) -> Array:
    """Return the factor of each support vector in the score of each pair of classes."""
    ends = np.cumsum(counts)
    table = coefficients.reshape(len(counts) - 1, -1)
    weights = np.zeros((len(pairs), table.shape[1]), np.float32)
    for row, (i, j) in zip(weights, pairs, strict=True):
        for own, other in ((i, j - 1), (j, i)):
            vectors = slice(ends[own] - counts[own], ends[own])
            row[vectors] = table[other, vectors]
    return np.ascontiguousarray(weights.T)


def _count_votes(node: OnnxNode, scores: OnnxTensor, pairs: Sequence[tuple[int, int]], classes: int) -> OnnxTensor:
    """Count the votes for each class: a positive score votes for the first of its pair, others for the second."""
    first, second = (np.eye(classes, dtype=np.float32)[list(side)] for side in zip(*pairs, strict=True))
    votes = compose(node, "Cast", compose(node, "Greater", scores, 0.0), to=FLOAT)
    return compose(node, "Add", compose(node, "MatMul", votes, first - second), second.sum(0))


def _apply_kernel(node: OnnxNode, count: int) -> OnnxTensor:
    """Return the kernel of each row and each of ``count`` support vectors."""
    kind, x = str(node.attribute("kernel_type", "LINEAR")), as_float(node)
    gamma, offset, degree = (*floats(node, "kernel_params"), 0.0, 0.0, 0.0)[:3]
    vectors = floats(node, "support_vectors").reshape(count, -1)
    if kind == "RBF":  # by differences: expanding the square would cancel digits
        differences = compose(node, "Sub", compose(node, "Unsqueeze", x, [1]), vectors[None])
        squares = compose(node, "ReduceSum", compose(node, "Mul", differences, differences), [2], keepdims=0)
        return compose(node, "Exp", compose(node, "Mul", squares, -float(gamma)))
    product = compose(node, "MatMul", x, np.ascontiguousarray(vectors.T))
    if kind == "LINEAR":
        return product
    inner = compose(node, "Add", compose(node, "Mul", product, float(gamma)), float(offset))
    if kind == "SIGMOID":
        return compose(node, "Tanh", inner)
    expressible(kind == "POLY", f"its kernel is {kind}")
    return compose(node, "Pow", inner, float(degree))
