"""Operators of the domain ai.onnx.ml, which converters of scikit-learn write, on numeric tensors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nnapi.errors import BadDataError, need
from nnapi.importers.onnx.node import Node
from nnapi.importers.onnx.results import compose
from nnapi.importers.onnx.rules import Result, rule
from nnapi.importers.onnx.rules.microsoft import number
from nnapi.importers.onnx.tensors import FLOAT, Tensor, constant
from nnapi.importers.refusals import expressible


def _as_float(node: Node) -> Tensor:
    tensor = node.tensor(0)
    return tensor if tensor.elem == FLOAT else compose(node, "Cast", tensor, to=FLOAT)


def _constant(node: Node, name: str) -> Tensor:
    return constant(f"{node.name}:{name}", np.array(node.attribute(name) or [], np.float32))


@rule("ai.onnx.ml:Scaler")
def scaler(node: Node) -> Result:
    found = _as_float(node)
    offset, scale = (_constant(node, name) for name in ("offset", "scale"))
    if offset.constant.any():
        found = compose(node, "Sub", found, offset)
    return compose(node, "Mul", found, scale) if scale.constant.size else found


@rule("ai.onnx.ml:Normalizer")
def normalizer(node: Node) -> Result:
    """Divide rows by their maximum, sum of magnitudes or root of the sum of squares."""
    norm, x = node.attribute("norm", "MAX"), _as_float(node)
    if norm in ("L1", "L2"):
        return compose(node, "LpNormalization", x, axis=1, p=int(norm[1]))
    expressible(norm == "MAX", f"its norm is {norm}")
    return compose(node, "Div", x, compose(node, "ReduceMax", x, axes=[1], keepdims=1))


@rule("ai.onnx.ml:Binarizer")
def binarizer(node: Node) -> Result:
    x = _as_float(node)
    above = compose(node, "Greater", x, number(node, float(node.attribute("threshold", 0.0)), x))
    return compose(node, "Cast", above, to=node.tensor(0).elem)


@rule("ai.onnx.ml:LinearRegressor")
def linear_regressor(node: Node) -> Result:
    return _transform(node, _linear(node, int(node.attribute("targets", 1))))


@rule("ai.onnx.ml:LinearClassifier")
def linear_classifier(node: Node) -> Sequence[Result | None]:
    """Return the label of the largest score, and the scores."""
    labels = node.attribute("classlabels_ints")
    expressible(labels, "its labels are texts, which NNAPI does not have")
    rows = len(node.attribute("coefficients") or []) // max(node.shape(0)[-1], 1)
    expressible(rows == len(labels), f"it has {rows} scores for {len(labels)} classes")
    scores = _linear(node, rows)
    places = compose(node, "ArgMax", scores, axis=1, keepdims=0)
    names = constant(f"{node.name}:labels", np.array(labels, np.int64))
    return [compose(node, "Gather", names, places, axis=0), _transform(node, scores)]


def _linear(node: Node, rows: int) -> Tensor:
    """Multiply the input by the coefficients and add the intercepts: [batch, rows]."""
    coefficients, bias = _constant(node, "coefficients"), _constant(node, "intercepts")
    depth, size = node.shape(0)[-1], coefficients.constant.size
    need(size == rows * depth, f"{size} coefficients for {rows} × {depth}", BadDataError)
    matrix = constant(coefficients.name, np.ascontiguousarray(coefficients.constant.reshape(rows, depth).T))
    found = compose(node, "MatMul", _as_float(node), matrix)
    return compose(node, "Add", found, bias) if bias.constant.size else found


def _transform(node: Node, scores: Tensor) -> Tensor:
    """Apply the post-transform."""
    way = node.attribute("post_transform", "NONE")
    expressible(way in ("NONE", "LOGISTIC", "SOFTMAX"), f"its post_transform is {way}")
    if way == "SOFTMAX":
        return compose(node, "Softmax", scores, axis=1)
    return scores if way == "NONE" else compose(node, "Sigmoid", scores)
