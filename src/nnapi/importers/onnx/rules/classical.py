"""Operators of the domain ai.onnx.ml, which converters of scikit-learn write, on numeric tensors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nnapi.errors import BadDataError, need
from nnapi.importers.onnx.node import Node
from nnapi.importers.onnx.rules import Result, rule
from nnapi.importers.onnx.rules.microsoft import compose, number
from nnapi.importers.onnx.tensors import FLOAT, Tensor, constant
from nnapi.importers.refusals import expressible
from nnapi.model.operand import Array


def _as_float(node: Node) -> Tensor:
    tensor = node.tensor(0)
    return tensor if tensor.elem == FLOAT else compose(node, "Cast", tensor, to=FLOAT)


def _numbers(node: Node, name: str) -> Array:
    return np.array(node.attribute(name) or [], np.float32)


@rule("ai.onnx.ml:Scaler")
def scaler(node: Node) -> Result:
    """(x - offset) times scale."""
    found = _as_float(node)
    offset, scale = (_numbers(node, name) for name in ("offset", "scale"))
    if offset.any():
        found = compose(node, "Sub", found, constant(f"{node.name}:offset", offset))
    return compose(node, "Mul", found, constant(f"{node.name}:scale", scale)) if scale.size else found


@rule("ai.onnx.ml:Normalizer")
def normalizer(node: Node) -> Result:
    """Rows divided by their largest element, the sum of magnitudes or the root of the sum of squares."""
    norm = node.attribute("norm", "MAX")
    x = _as_float(node)
    if norm in ("L1", "L2"):
        return compose(node, "LpNormalization", x, axis=1, p=int(norm[1]))
    expressible(norm == "MAX", f"its norm is {norm}")
    axes = constant(f"{node.name}:axes", np.array([1]))
    if node.conversion.opsets.get("", 18) >= 18:
        largest = compose(node, "ReduceMax", x, axes, keepdims=1)
    else:
        largest = compose(node, "ReduceMax", x, axes=[1], keepdims=1)
    return compose(node, "Div", x, largest)


@rule("ai.onnx.ml:Binarizer")
def binarizer(node: Node) -> Result:
    """1 where the input is above a threshold, else 0."""
    x = _as_float(node)
    above = compose(node, "Greater", x, number(node, float(node.attribute("threshold", 0.0)), x))
    return compose(node, "Cast", above, to=node.tensor(0).elem)


@rule("ai.onnx.ml:LinearRegressor")
def linear_regressor(node: Node) -> Result:
    return _transform(node, _linear(node, "intercepts", int(node.attribute("targets", 1))))


@rule("ai.onnx.ml:LinearClassifier")
def linear_classifier(node: Node) -> Sequence[Result | None]:
    """The label of the largest score, and the scores; of one score for two classes, the label by its sign."""
    labels = node.attribute("classlabels_ints")
    expressible(labels, "its labels are texts, which NNAPI does not have")
    rows = _numbers(node, "coefficients").size // max(node.shape(0)[-1], 1)
    expressible(rows == len(labels), f"it has {rows} scores for {len(labels)} classes")
    scores = _linear(node, "intercepts", rows)
    places = compose(node, "ArgMax", scores, axis=1, keepdims=0)
    names = constant(f"{node.name}:labels", np.array(labels, np.int64))
    return [compose(node, "Gather", names, places, axis=0), _transform(node, scores)]


def _linear(node: Node, intercepts: str, rows: int) -> Tensor:
    """The input times the coefficients, plus the intercepts: [batch, rows]."""
    x, coefficients = _as_float(node), _numbers(node, "coefficients")
    depth = node.shape(0)[-1]
    need(coefficients.size == rows * depth, f"{coefficients.size} coefficients for {rows} × {depth}", BadDataError)
    matrix = constant(f"{node.name}:coefficients", np.ascontiguousarray(coefficients.reshape(rows, depth).T))
    found = compose(node, "MatMul", x, matrix)
    bias = _numbers(node, intercepts)
    return compose(node, "Add", found, constant(f"{node.name}:intercepts", bias)) if bias.size else found


def _transform(node: Node, scores: Tensor) -> Tensor:
    """Scores as their post-transform gives them."""
    way = node.attribute("post_transform", "NONE")
    kinds = {"LOGISTIC": "Sigmoid", "SOFTMAX": "Softmax"}
    expressible(way == "NONE" or way in kinds, f"its post_transform is {way}")
    if way == "SOFTMAX":
        return compose(node, "Softmax", scores, axis=1)
    return scores if way == "NONE" else compose(node, kinds[way], scores)
