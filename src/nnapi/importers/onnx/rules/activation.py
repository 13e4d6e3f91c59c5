"""Activations."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.importers.arithmetic import add, error_function, multiply, plus, times
from nnapi.importers.graph import FLOATS, Value
from nnapi.importers.onnx.layout import align, align_from
from nnapi.importers.onnx.node import Node
from nnapi.importers.onnx.rules import rule
from nnapi.importers.onnx.rules.comparison import select
from nnapi.importers.onnx.rules.elementwise import real_input
from nnapi.importers.onnx.rules.quantized_operands import apply_in_codes, computes_in_codes
from nnapi.importers.onnx.tensors import BYTES, FLOAT, Tensor
from nnapi.importers.refusals import expressible
from nnapi.model.operand import OperandType

DIRECT = {"Sigmoid": OperationCode.LOGISTIC, "Tanh": OperationCode.TANH, "HardSwish": OperationCode.HARD_SWISH}
RECTIFIED = {(0.0, 6.0): OperationCode.RELU6, (-1.0, 1.0): OperationCode.RELU1, (0.0, math.inf): OperationCode.RELU}
"""Bounds of what NNAPI has as one operation."""


def real(node: Node, i: int = 0) -> tuple[Value, object]:
    return real_input(node, i)


@rule(*DIRECT)
def direct(node: Node) -> Tensor:
    if computes_in_codes(node, 0):
        (codes,), layout = align(node, 0)
        return layout.result(node, apply_in_codes(node, DIRECT[node.kind], codes), FLOAT)
    x, layout = real_input(node)
    return layout.result(node, node.apply(DIRECT[node.kind], x))


def _done_before(node: Node) -> Tensor:
    """Return the input, in which the previous operation already applied this activation, under this node's name."""
    tensor = node.tensor(0)
    tensor.materialize().name = node.name
    return replace(tensor, name=node.name)


@rule("Relu")
def relu(node: Node) -> Tensor:
    if node.tensor(0).value in node.conversion.activated:
        return _done_before(node)
    x, layout = real_input(node)
    if x.type.code in FLOATS:
        return layout.result(node, node.apply(OperationCode.RELU, x))
    return layout.result(node, node.apply(OperationCode.MAXIMUM, x, node.like_any(x, 0)), node.tensor(0).elem)


@rule("Clip")
def clip(node: Node) -> Tensor:
    if node.tensor(0).value in node.conversion.activated:
        return _done_before(node)
    x, layout = real_input(node)
    low, high = clip_bounds(node)
    known = RECTIFIED.get((low, high)) if low is not None and high is not None else None
    if x.type.code in FLOATS and known is not None:
        return layout.result(node, node.apply(known, x))
    for i, number, code in ((1, low, OperationCode.MAXIMUM), (2, high, OperationCode.MINIMUM)):
        if number is None:
            bound = node.codes(i)
            x = node.apply(code, x, bound if node.tensor(i).elem in BYTES else node.graph.real(bound))
        elif math.isfinite(number):
            x = node.apply(code, x, _as(node, x, number))
    return layout.result(node, x, node.tensor(0).elem)


def _as(node: Node, x: Value, number: float) -> Value:
    """A bound in the type of a value; one that the type does not reach is its end."""
    dtype = x.type.dtype
    limits = np.iinfo(dtype) if dtype.kind in "iu" else np.finfo(dtype)
    return node.like_any(x, min(max(number, limits.min), limits.max))


def clip_bounds(node: Node) -> tuple[float | None, float | None]:
    """The bounds of Clip, infinite where they are not given, None where they are computed."""
    found: list[float | None] = []
    for i, name, missing in ((1, "min", -math.inf), (2, "max", math.inf)):
        if node.since < 11:
            number = float(node.attribute(name, missing))
            found.append(missing if abs(number) >= float(np.finfo(np.float32).max) else number)
        elif not node.has(i):
            found.append(missing)
        else:
            array = node.tensor(i).array
            found.append(None if array is None else float(array.reshape(())))
    return found[0], found[1]


@rule("LeakyRelu")
def leaky_relu(node: Node) -> Tensor:
    x, layout = real_input(node)
    return layout.result(node, node.apply(OperationCode.PRELU, x, node.like(x, float(node.attribute("alpha", 0.01)))))


@rule("PRelu")
def prelu(node: Node) -> Tensor:
    """The slope stretches to the input, in old opsets along the channels."""
    if node.since < 7 and node.tensor(1).rank == 1 and node.shape(1) != (1,):
        align_from(node, 1, 0, 1)
    (x, slope), layout = align(node, 0, 1)
    x, slope = node.graph.real(x), node.graph.real(slope)
    expressible(x.type.code in FLOATS, "NNAPI has it for floats only")
    return layout.result(node, node.apply(OperationCode.PRELU, x, slope))


@rule("Elu")
def elu(node: Node) -> Tensor:
    x, layout = real_input(node)
    return layout.result(node, node.apply(OperationCode.ELU, x, node.real(float(node.attribute("alpha", 1.0)), x)))


@rule("Selu")
def selu(node: Node) -> Tensor:
    x, layout = real_input(node)
    alpha, gamma = float(node.attribute("alpha", 1.6732632)), float(node.attribute("gamma", 1.050701))
    return layout.result(node, times(node, node.apply(OperationCode.ELU, x, node.real(alpha, x)), gamma))


@rule("ThresholdedRelu")
def thresholded_relu(node: Node) -> Tensor:
    """Lower ThresholdedRelu: values above a bound, else zero."""
    x, layout = real_input(node)
    above = node.apply(
        OperationCode.GREATER,
        x,
        node.like(x, float(node.attribute("alpha", 1.0))),
        type=OperandType(OperandCode.TENSOR_BOOL8),
    )
    return layout.result(node, select(node, above, x, node.like(x, 0), x.shape))


@rule("Softplus")
def softplus(node: Node) -> Tensor:
    """log(exp(x) + 1), as max(x, 0) + log(1 + exp(-|x|)), which stays finite."""
    x, layout = real_input(node)
    size = node.apply(OperationCode.NEG, node.apply(OperationCode.ABS, x))
    rest = node.apply(OperationCode.LOG, plus(node, node.apply(OperationCode.EXP, size), 1))
    return layout.result(node, add(node, node.apply(OperationCode.RELU, x), rest))


@rule("Erf")
def erf(node: Node) -> Tensor:
    x, layout = real_input(node)
    return layout.result(node, error_function(node, x))


@rule("Gelu")
def gelu(node: Node) -> Tensor:
    """x times the normal distribution's probability of being below x."""
    x, layout = real_input(node)
    if node.attribute("approximate", "none") == "tanh":
        cube = multiply(node, multiply(node, x, x), x)
        inner = times(node, add(node, x, times(node, cube, 0.044715)), math.sqrt(2 / math.pi))
        spread = node.apply(OperationCode.TANH, inner)
    else:
        spread = error_function(node, x, math.sqrt(0.5))
    return layout.result(node, multiply(node, times(node, x, 0.5), plus(node, spread, 1)))
