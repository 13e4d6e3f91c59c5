"""Activations."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from nnapi.codes import FuseCode, OperationCode
from nnapi.importers.graph import FLOATS, Value
from nnapi.importers.onnx.fusion import ACTIVATIONS
from nnapi.importers.onnx.layout import align, align_from, real_input
from nnapi.importers.onnx.node import OnnxNode
from nnapi.importers.onnx.operators import rule
from nnapi.importers.onnx.rules.quantized_operands import computes_quantized
from nnapi.importers.onnx.tensors import OnnxTensor
from nnapi.importers.refusals import expressible
from nnapi.importers.terms import Term, choose, error_function, exp, gelu, relu, softplus

DIRECT = {"Sigmoid": OperationCode.LOGISTIC, "Tanh": OperationCode.TANH, "HardSwish": OperationCode.HARD_SWISH}


@rule(*DIRECT)
def direct(node: OnnxNode) -> OnnxTensor:
    quantized = computes_quantized(node, 0)
    (x,), layout = align(node, 0, quantized=quantized)
    return layout.result(node, node.apply(DIRECT[node.kind], x, type=node.wanted if quantized else None))


@rule("Relu", "Clip")
def clip(node: OnnxNode) -> OnnxTensor:
    if node.tensor(0).value in node.conversion.activated:  # the previous operation has applied it
        tensor = node.tensor(0)
        tensor.materialize().name = node.name
        return replace(tensor, name=node.name)
    x, layout = real_input(node)
    low, high = _find_bounds(node)
    known = ACTIVATIONS.get((low, high), FuseCode.FUSED_NONE)
    if x.type.code in FLOATS and known != FuseCode.FUSED_NONE:
        return layout.result(node, node.apply(OperationCode[known.name.removeprefix("FUSED_")], x))
    for i, number, code, unbounded in (
        (1, low, OperationCode.MAXIMUM, -math.inf),
        (2, high, OperationCode.MINIMUM, math.inf),
    ):
        if number is None:
            x = node.apply(code, x, node.dequantize_unless_bytes(i, node.stored(i)))
        elif number != unbounded and not math.isnan(number):
            x = node.apply(code, x, _as_bound(node, x, number))
    return layout.result(node, x, node.tensor(0).elem)


def _as_bound(node: OnnxNode, x: Value, number: float) -> Value:
    dtype = x.type.dtype
    if dtype.kind == "f" and math.isinf(number):
        return node.like(x, number)
    limits = np.iinfo(dtype) if dtype.kind in "iu" else np.finfo(dtype)
    return node.like(x, min(max(number, limits.min), limits.max))


def _find_bounds(node: OnnxNode) -> tuple[float | None, float | None]:
    """Return the lower and upper bound of Relu or Clip: infinite if omitted, None if computed."""
    if node.kind == "Relu":
        return 0.0, math.inf
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


@rule("PRelu")
def prelu(node: OnnxNode) -> OnnxTensor:
    """Lower PRelu; in old opsets a slope of one axis belongs to the channels."""
    if node.since < 7 and node.tensor(1).rank == 1 and node.shape(1) != (1,):
        align_from(node, 1)
    (x, slope), layout = align(node, 0, 1)
    expressible(x.type.code in FLOATS, "NNAPI has it for floats only")
    return layout.result(node, node.apply(OperationCode.PRELU, x, slope))


def _elu(x: Term, alpha: float) -> Term:
    """Return x, or alpha · (exp(x) - 1) where x is below 0. NNAPI's ELU is another function if alpha is not above 0."""
    if alpha == 0:
        return relu(x)
    if alpha < 0:
        return relu(x) + _elu(x.apply(OperationCode.MINIMUM, 0), 1) * alpha
    return Term(x.node, x.node.apply(OperationCode.ELU, x.value, x.node.real(alpha, x.value)))


def _celu(x: Term) -> Term:
    """Return max(x, 0) + min(alpha · (exp(x / alpha) - 1), 0), which is an ELU if alpha is above 0."""
    alpha = _read(x, "alpha")
    expressible(alpha, "its alpha is 0")
    if alpha > 0:
        return _elu(x / alpha, 1) * alpha
    return relu(x) + ((exp(x / alpha) - 1) * alpha).apply(OperationCode.MINIMUM, 0)


def _read(x: Term, name: str) -> float:
    return float(x.node.attribute(name))


def _hard_sigmoid(x: Term) -> Term:
    line = x * _read(x, "alpha") + _read(x, "beta")
    return line.apply(OperationCode.MINIMUM, 1).apply(OperationCode.MAXIMUM, 0)


FORMULAS: dict[str, Callable[[Term], Term]] = {
    "Celu": _celu,
    "Elu": lambda x: _elu(x, _read(x, "alpha")),
    "Erf": error_function,
    "Gelu": lambda x: gelu(x, is_approximate=x.node.attribute("approximate", "none") == "tanh"),
    "HardSigmoid": _hard_sigmoid,
    "LeakyRelu": lambda x: x.apply(OperationCode.PRELU, _read(x, "alpha")),
    "Selu": lambda x: _elu(x, _read(x, "alpha")) * _read(x, "gamma"),
    "Softplus": softplus,
    "ThresholdedRelu": lambda x: choose(x > float(x.node.attribute("alpha", 1.0)), x, x.beside(0)),
}


@rule(*FORMULAS)
def formula(node: OnnxNode) -> OnnxTensor:
    x, layout = real_input(node)
    return layout.result(node, FORMULAS[node.kind](Term(node, x)).value)
