"""Elementwise unary operators: NNAPI's own operations, and formulas of them."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.importers.graph import BOOL8, FLOATS, INT32
from nnapi.importers.onnx.layout import real_input
from nnapi.importers.onnx.node import OnnxNode
from nnapi.importers.onnx.operators import rule
from nnapi.importers.onnx.tensors import BOOL, BYTES, OnnxTensor
from nnapi.importers.refusals import expressible
from nnapi.importers.terms import (
    Term,
    as_bytes,
    ceil,
    choose,
    cosine,
    exp,
    floor,
    in_float32,
    log,
    nearest_integer,
    sign,
    sin,
    sqrt,
)
from nnapi.model.operand import OperandType

LARGEST = {OperandCode.TENSOR_FLOAT32: float(np.finfo(np.float32).max), OperandCode.TENSOR_FLOAT16: 65504.0}
OF_BYTES = ("Abs", "Neg")


def _with_sign_of(x: Term, size: Term) -> Term:
    return choose(x < 0, -size, size)


def _arctangent(x: Term) -> Term:
    """Return the arctangent. For |x| > 1, use the reciprocal, whose square stays finite."""
    size = abs(x)
    is_large = size > 1
    inverse = 1 / size.apply(OperationCode.MAXIMUM, 1)
    angle = _arctangent_of_small(choose(is_large, inverse, size.apply(OperationCode.MINIMUM, 1)))
    return _with_sign_of(x, choose(is_large, math.pi / 2 - angle, angle))


def _arctangent_of_small(x: Term) -> Term:
    """Return the arctangent of x in 0 … 1: halve the angle twice by x / (1 + sqrt(1 + x²)), then sum the series."""
    for _ in range(2):
        x = x / (sqrt(x * x + 1) + 1)
    square, series = x * x, x.beside(1 / 17)
    for odd in range(15, 0, -2):
        series = 1 / odd - series * square
    return x * series * 4


def _arcsine(x: Term) -> Term:
    """Return the arcsine, 2 atan(x / (1 + sqrt(1 - x²)))."""
    return _arctangent_of_small(x / (sqrt((1 - x) * (x + 1)) + 1)) * 2


FORMULAS: dict[str, Callable[[Term], Term]] = {
    "Abs": abs,
    "Acos": in_float32(lambda x: math.pi / 2 - _arcsine(x)),
    "Acosh": in_float32(lambda x: log(x + sqrt(x * x - 1))),
    "Asin": in_float32(_arcsine),
    "Asinh": in_float32(lambda x: _with_sign_of(x, log(abs(x) + sqrt(x * x + 1)))),
    "Atan": in_float32(_arctangent),
    "Atanh": in_float32(lambda x: log((x + 1) / (1 - x)) * 0.5),
    "Ceil": ceil,
    "Cos": in_float32(cosine),
    "Cosh": in_float32(lambda x: (exp(x) + exp(-x)) * 0.5),
    "Exp": exp,
    "Floor": floor,
    "Log": log,
    "Neg": lambda x: -x,
    "Reciprocal": lambda x: 1 / x,
    "Round": nearest_integer,
    "Sign": sign,
    "Sin": sin,
    "Sinh": in_float32(lambda x: (exp(x) - exp(-x)) * 0.5),
    "Sqrt": sqrt,
    "Tan": in_float32(lambda x: sin(x) / cosine(x)),
}


@rule(*FORMULAS)
def unary(node: OnnxNode) -> OnnxTensor:
    x, layout = real_input(node)
    elem, formula = node.tensor(0).elem, FORMULAS[node.kind]
    if elem in BYTES:
        expressible(node.kind in OF_BYTES, "NNAPI has no signs of bytes")
        whole = formula(Term(node, node.cast(x, INT32)))
        return layout.result(node, as_bytes(node, whole.value, x.type), elem)
    return layout.result(node, formula(Term(node, x)).value)


@rule("Identity", "Dropout")
def identity(node: OnnxNode) -> list[OnnxTensor | None]:
    if node.kind == "Dropout":
        training = node.has(2) and bool(node.array(2).any())
        keeps_all = node.has(1) and node.array(1) == 0
        expressible(not training or keeps_all, "in training mode, it drops elements at random")
    same = replace(node.tensor(0), name=node.name)
    if not node.wants(1):
        return [same]
    return [same, node.constant_result(np.ones(node.static_shape(0), np.bool_))]


@rule("Not")
def logical_not(node: OnnxNode) -> OnnxTensor:
    x, layout = real_input(node)
    return layout.result(node, node.apply(OperationCode.LOGICAL_NOT, x), BOOL)


@rule("IsNaN", "IsInf")
def is_special(node: OnnxNode) -> OnnxTensor:
    """Lower IsNaN and IsInf: a NaN differs from itself; the size of an infinity exceeds the largest float."""
    value, layout = real_input(node)
    kind = "NaN" if node.kind == "IsNaN" else "infinite"
    expressible(value.type.code in FLOATS, f"only floats may be {kind}")
    x, limit = Term(node, value), LARGEST[OperandCode(value.type.code)]
    above = [x > limit] if node.attribute("detect_positive", 1) else []
    below = [x < -limit] if node.attribute("detect_negative", 1) else []
    if node.kind == "IsNaN":
        found = x.compare(OperationCode.NOT_EQUAL, x)
    elif above and below:
        found = above[0].apply(OperationCode.LOGICAL_OR, below[0], type=OperandType(BOOL8))
    else:
        found = (above or below or [x < x])[0]
    return layout.result(node, found.value, BOOL)
