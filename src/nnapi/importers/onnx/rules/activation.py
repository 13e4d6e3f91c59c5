"""Activations."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from nnapi.codes import FuseCode, OperationCode
from nnapi.importers.formulas import Term, choose, error_function, exp, gelu, log, relu
from nnapi.importers.graph import FLOATS, Value
from nnapi.importers.onnx.fusion import ACTIVATIONS
from nnapi.importers.onnx.layout import align, align_from, real_input
from nnapi.importers.onnx.node import Node
from nnapi.importers.onnx.operators import rule
from nnapi.importers.onnx.rules.quantized_operands import computes_quantized
from nnapi.importers.onnx.tensors import Tensor
from nnapi.importers.refusals import expressible

DIRECT = {"Sigmoid": OperationCode.LOGISTIC, "Tanh": OperationCode.TANH, "HardSwish": OperationCode.HARD_SWISH}


@rule(*DIRECT)
def direct(node: Node) -> Tensor:
    quantized = computes_quantized(node, 0)
    (x,), layout = align(node, 0, quantized=quantized)
    return layout.result(node, node.apply(DIRECT[node.kind], x, type=node.wanted if quantized else None))


@rule("Relu", "Clip")
def clip(node: Node) -> Tensor:
    if node.tensor(0).value in node.conversion.activated:  # the previous operation has applied it
        tensor = node.tensor(0)
        tensor.materialize().name = node.name
        return replace(tensor, name=node.name)
    x, layout = real_input(node)
    low, high = _find_bounds(node)
    known = ACTIVATIONS.get((low, high), FuseCode.FUSED_NONE)
    if x.type.code in FLOATS and known != FuseCode.FUSED_NONE:
        return layout.result(node, node.apply(OperationCode[known.name.removeprefix("FUSED_")], x))
    for i, number, code in ((1, low, OperationCode.MAXIMUM), (2, high, OperationCode.MINIMUM)):
        if number is None:
            x = node.apply(code, x, node.dequantize_unless_bytes(i, node.stored(i)))
        elif math.isfinite(number):
            x = node.apply(code, x, _as_bound(node, x, number))
    return layout.result(node, x, node.tensor(0).elem)


def _as_bound(node: Node, x: Value, number: float) -> Value:
    dtype = x.type.dtype
    limits = np.iinfo(dtype) if dtype.kind in "iu" else np.finfo(dtype)
    return node.like_any(x, min(max(number, limits.min), limits.max))


def _find_bounds(node: Node) -> tuple[float | None, float | None]:
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
def prelu(node: Node) -> Tensor:
    """Lower PRelu; in old opsets a slope of one axis belongs to the channels."""
    if node.since < 7 and node.tensor(1).rank == 1 and node.shape(1) != (1,):
        align_from(node, 1, 0, 1)
    (x, slope), layout = align(node, 0, 1)
    expressible(x.type.code in FLOATS, "NNAPI has it for floats only")
    return layout.result(node, node.apply(OperationCode.PRELU, x, slope))


def _elu(x: Term) -> Term:
    return Term(x.node, x.node.apply(OperationCode.ELU, x.value, x.node.real(_read(x, "alpha"), x.value)))


def _softplus(x: Term) -> Term:
    """Return log(exp(x) + 1), computed as max(x, 0) + log(1 + exp(-|x|)), which stays finite."""
    return relu(x) + log(exp(-abs(x)) + 1)


def _read(x: Term, name: str) -> float:
    return float(x.node.attribute(name))


FORMULAS: dict[str, Callable[[Term], Term]] = {
    "Elu": _elu,
    "Erf": error_function,
    "Gelu": lambda x: gelu(x, is_approximate=x.node.attribute("approximate", "none") == "tanh"),
    "LeakyRelu": lambda x: x.apply(OperationCode.PRELU, _read(x, "alpha")),
    "Selu": lambda x: _elu(x) * _read(x, "gamma"),
    "Softplus": _softplus,
    "ThresholdedRelu": lambda x: choose(x > float(x.node.attribute("alpha", 1.0)), x, x.beside(0)),
}


@rule(*FORMULAS)
def formula(node: Node) -> Tensor:
    x, layout = real_input(node)
    return layout.result(node, FORMULAS[node.kind](Term(node, x)).value)
