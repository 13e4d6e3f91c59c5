"""Classical estimators of ai.onnx.ml on numeric tensors, composed of ONNX's operators: scaling, linear models, and the
parts that they share with others."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi.importers.onnx.node import OnnxNode
from nnapi.importers.onnx.operators import Result, rule
from nnapi.importers.onnx.rule_results import compose
from nnapi.importers.onnx.tensors import DTYPES, FLOAT, OnnxTensor
from nnapi.importers.refusals import Refused, expressible
from nnapi.model.operand import Array


@rule("ai.onnx.ml:ArrayFeatureExtractor")
def array_feature_extractor(node: OnnxNode) -> Result:
    """Lower ArrayFeatureExtractor: a Gather along the last axis. A vector counts as a row."""
    x = node.tensor(0)
    if x.rank == 1:
        x = compose(node, "Unsqueeze", x, [0])
    return compose(node, "Gather", x, compose(node, "Reshape", node.tensor(1), [-1]), axis=x.rank - 1)


@rule("ai.onnx.ml:LabelEncoder")
def label_encoder(node: OnnxNode) -> Result:
    """Lower LabelEncoder between numbers: the value at the position of the equal key, or else the default."""
    x = node.tensor(0)
    found = {side: _list_numbers(node, side) for side in ("keys", "values")}
    keys, values = (array.astype(np.float32 if array.dtype.kind == "f" else np.int64) for array in found.values())
    default = node.attribute("default_float", -0.0) if values.dtype.kind == "f" else node.attribute("default_int64", -1)
    rows = compose(node, "Reshape", x, [-1, 1])
    equal = compose(node, "Cast", compose(node, "Equal", rows, keys.astype(DTYPES[x.elem])[None]), to=FLOAT)
    position = compose(node, "ArgMax", equal, axis=1, keepdims=0)
    is_known = compose(node, "Greater", compose(node, "ReduceMax", equal, [1], keepdims=0), 0.5)
    chosen = compose(node, "Gather", values, position, axis=0)
    encoded = compose(node, "Where", is_known, chosen, np.array([default], values.dtype))
    return compose(node, "Reshape", encoded, list(node.static_shape(0)))


def _list_numbers(node: OnnxNode, side: str) -> Array:
    for name in (f"{side}_int64s", f"{side}_floats"):
        given = node.attribute(name)
        if given:
            return np.array(given)
    raise Refused(f"its {side} are texts, which NNAPI does not have")


@rule("ai.onnx.ml:ZipMap")
def zip_map(node: OnnxNode) -> Result:
    """Lower ZipMap: pass through the values. Sessions make the maps, as NNAPI has none."""
    return node.tensor(0)


def as_float(node: OnnxNode) -> OnnxTensor:
    tensor = node.tensor(0)
    return tensor if tensor.elem == FLOAT else compose(node, "Cast", tensor, to=FLOAT)


def floats(node: OnnxNode, name: str, tensor: Any = None) -> Array:
    """Return an attribute's float values; newer operators may store them as a ``tensor``."""
    tensor = node.attribute(f"{name}_as_tensor") if tensor is None else tensor
    if tensor is not None:
        return node.conversion.state.file.array(tensor)[0].astype(np.float32)
    return np.array(node.attribute(name) or [], np.float32)


@rule("ai.onnx.ml:Scaler")
def scaler(node: OnnxNode) -> Result:
    found = as_float(node)
    offset, scale = floats(node, "offset"), floats(node, "scale")
    if offset.any():
        found = compose(node, "Sub", found, offset)
    return compose(node, "Mul", found, scale) if scale.size else found


@rule("ai.onnx.ml:Normalizer")
def normalizer(node: OnnxNode) -> Result:
    norm, x = node.attribute("norm", "MAX"), as_float(node)
    if norm in ("L1", "L2"):
        return compose(node, "LpNormalization", x, axis=1, p=int(norm[1]))
    expressible(norm == "MAX", f"its norm is {norm}, must be MAX, L1 or L2")
    return compose(node, "Div", x, compose(node, "ReduceMax", x, axes=[1], keepdims=1))


@rule("ai.onnx.ml:Binarizer")
def binarizer(node: OnnxNode) -> Result:
    x = as_float(node)
    above = compose(node, "Greater", x, float(node.attribute("threshold", 0.0)))
    return compose(node, "Cast", above, to=node.tensor(0).elem)


@rule("ai.onnx.ml:LinearRegressor")
def linear_regressor(node: OnnxNode) -> Result:
    return transform(node, _linear(node, int(node.attribute("targets", 1))))


@rule("ai.onnx.ml:LinearClassifier")
def linear_classifier(node: OnnxNode) -> Sequence[Result | None]:
    labels = integer_labels(node, "classlabels_ints")
    rows = len(node.attribute("coefficients") or []) // max(node.shape(0)[-1], 1)
    expressible(rows == len(labels), f"it has {rows} scores for {len(labels)} classes")
    scores = _linear(node, rows)
    return [choose_label(node, labels, scores), transform(node, scores)]


def integer_labels(node: OnnxNode, name: str) -> Sequence[int]:
    """Return the classes that an attribute lists; the numbers of classes whose labels are texts. Raise Refused if there
    are none."""
    labels: Sequence[int] | None = node.attribute(name)
    if labels:
        return labels
    texts = node.attribute("classlabels_strings") or []
    expressible(texts, "it has no labels")
    node.note(f"the labels of {node.name} are texts, of which the model gives the numbers")
    return range(len(texts))


def choose_label(node: OnnxNode, labels: Sequence[int], scores: OnnxTensor) -> OnnxTensor:
    """Return the label of the highest of a row's scores; the first of several."""
    indices = compose(node, "ArgMax", scores, axis=1, keepdims=0)
    return compose(node, "Gather", labels, indices, axis=0)


def _linear(node: OnnxNode, rows: int) -> OnnxTensor:
    coefficients, bias = floats(node, "coefficients"), floats(node, "intercepts")
    depth, size = node.shape(0)[-1], coefficients.size
    expressible(size == rows * depth, f"{size} coefficients for {rows} × {depth}")
    found = compose(node, "MatMul", as_float(node), np.ascontiguousarray(coefficients.reshape(rows, depth).T))
    return compose(node, "Add", found, bias) if bias.size else found


def transform(node: OnnxNode, scores: OnnxTensor, way: str | None = None) -> OnnxTensor:
    """Apply a transformation, by default the node's attribute ``post_transform``."""
    way = way or str(node.attribute("post_transform", "NONE"))
    expressible(
        way in ("NONE", "LOGISTIC", "SOFTMAX"), f"its post_transform is {way}, must be NONE, LOGISTIC or SOFTMAX"
    )
    if way == "SOFTMAX":
        return compose(node, "Softmax", scores, axis=1)
    return scores if way == "NONE" else compose(node, "Sigmoid", scores)
