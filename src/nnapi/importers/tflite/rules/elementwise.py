"""Elementwise operations: arithmetic, comparisons, activations and functions."""

from collections.abc import Callable

import numpy as np

from nnapi.codes import OperationCode
from nnapi.importers.graph import INT32
from nnapi.importers.refusals import expressible
from nnapi.importers.terms import Term, ceil, cosine, divide_towards_zero, floor, gelu, nearest_integer, sign
from nnapi.importers.tflite.node import TfliteNode
from nnapi.importers.tflite.rules import rule
from nnapi.model.operand import OperandType
from nnapi.operation_codes import CompositeCode

COMPARISONS = [OperationCode[name] for name in ("EQUAL", "NOT_EQUAL", "GREATER_EQUAL", "GREATER", "LESS_EQUAL", "LESS")]
"""NNAPI's comparisons by value of StablehloComparisonDirection."""


@rule("DIV", "STABLEHLO_DIVIDE")
def divide(node: TfliteNode) -> None:
    x, y = node.inputs
    act = node.activation(getattr(node.options, "activation", 0))
    if x.type.code == INT32:
        node.deliver_activated(divide_towards_zero(Term(node, x), Term(node, y)).value)
    else:
        node.emit(OperationCode.DIV, x, y, act)


@rule("STABLEHLO_COMPARE")
def compare(node: TfliteNode) -> None:
    direction = node.options.comparison_direction
    expressible(0 <= direction < len(COMPARISONS), f"its direction {direction} is none")
    node.emit(COMPARISONS[direction], node.input(0), node.input(1))


@rule("RELU", "RELU_N1_TO_1", "RELU6")
def rectifier(node: TfliteNode) -> None:
    node.activate(node.code, node.input(0), node.output)


@rule("STABLEHLO_CLAMP")
def clamp(node: TfliteNode) -> None:
    low, x, high = node.inputs
    node.emit(OperationCode.MINIMUM, node.apply(OperationCode.MAXIMUM, x, low), high)


@rule("ELU")
def elu(node: TfliteNode) -> None:
    x = node.input(0)
    node.emit(OperationCode.ELU, x, node.real(1.0, x))


@rule("LEAKY_RELU")
def leaky_relu(node: TfliteNode) -> None:
    """Lower LEAKY_RELU to PRELU with a single slope, quantized if the input is."""
    x, slope = node.input(0), float(node.options.alpha)
    if not x.is_quantized:
        node.emit(OperationCode.PRELU, x, node.like(x, slope))
        return
    zero_point = 0 if slope >= 0 else 1
    type = OperandType(x.type.code, (1,), abs(slope) or 1.0, zero_point)
    code = zero_point + (int(np.sign(slope)))
    node.emit(OperationCode.PRELU, x, node.graph.full(type, code))


@rule("ADD_N")
def add_n(node: TfliteNode) -> None:
    first, *rest = node.inputs
    if not rest:
        node.bind(0, first)
        return
    total = sum((Term(node, value) for value in rest[:-1]), Term(node, first))
    node.emit(OperationCode.ADD, total.value, rest[-1], node.i32(0))


def _floor_quotient(x: Term, y: Term) -> Term:
    quotient = x / y
    return floor(quotient) if quotient.value.is_float else quotient


def _square(x: Term) -> Term:
    return x * x


FORMULAS: dict[str, Callable[..., Term]] = {
    "CEIL": ceil,
    "COS": cosine,
    "FLOOR_DIV": _floor_quotient,
    "FLOOR_MOD": lambda x, y: Term(x.node, x.node.apply(CompositeCode.MOD, x.value, y.value, x.node.flag(False))),
    "GELU": lambda x: gelu(x, is_approximate=x.node.options.approximate),
    "RELU_0_TO_1": lambda x: x.apply(OperationCode.MAXIMUM, 0).apply(OperationCode.MINIMUM, 1),
    "ROUND": nearest_integer,
    "SIGN": sign,
    "SQUARE": _square,
    "SQUARED_DIFFERENCE": lambda x, y: _square(x - y),
    "STABLEHLO_COSINE": cosine,
}


@rule(*FORMULAS)
def formula(node: TfliteNode) -> None:
    operands = [Term(node, value) for value in node.reals()]
    node.deliver(FORMULAS[node.kind](*operands).value)
