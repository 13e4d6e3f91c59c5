"""Arithmetic for rules of every format, as operations of NNAPI."""

from __future__ import annotations

import numpy as np

from nnapi.codes import OperationCode
from nnapi.importers.graph import BOOL8, Value
from nnapi.importers.node import Node
from nnapi.model.operand import OperandType, Shape


def add(node: Node, x: Value, y: Value) -> Value:
    return node.apply(OperationCode.ADD, x, y, node.i32(0))


def subtract(node: Node, x: Value, y: Value) -> Value:
    return node.apply(OperationCode.SUB, x, y, node.i32(0))


def multiply(node: Node, x: Value, y: Value) -> Value:
    return node.apply(OperationCode.MUL, x, y, node.i32(0))


def divide(node: Node, x: Value, y: Value) -> Value:
    return node.apply(OperationCode.DIV, x, y, node.i32(0))


def plus(node: Node, x: Value, number: float) -> Value:
    return add(node, x, node.like(x, number))


def times(node: Node, x: Value, number: float) -> Value:
    return multiply(node, x, node.like(x, number))


def truth(node: Node, code: OperationCode, x: Value, y: Value) -> Value:
    return node.apply(code, x, y, type=OperandType(BOOL8))


def choose(node: Node, condition: Value, x: Value, y: Value) -> Value:
    """Select x where the condition holds, else y; all have one shape."""
    return node.apply(OperationCode.SELECT, condition, x, y, type=x.type)


def broadcast(node: Node, value: Value, shape: Shape) -> Value:
    """Repeat a value until it has ``shape``."""
    if value.shape == shape:
        return value
    own = (1,) * (len(shape) - value.rank) + node.static_shape_of(value)
    type = value.type.with_dimensions(shape)
    if value.array is not None and node.graph.allowance.grants(type.nbytes):
        return Value(type, value.name, np.broadcast_to(value.array.reshape(own), shape).copy())
    counts = [want // have for want, have in zip(shape, own, strict=True)]
    return node.apply(OperationCode.TILE, node.reshape(value, own), node.graph.ints(counts), shape=shape)


ERROR_FUNCTION = (4.51351881, 6.5769906, -0.188809052, -10.2517853, 23.5175648, -25.1055794, 10.6673126)
"""Coefficients of u, u³, u⁵, …: erf(4u) is about the hyperbolic tangent of their sum, u from -1 to 1."""


def error_function(node: Node, x: Value, scale: float = 1.0) -> Value:
    """Approximate erf(``scale`` x) by the hyperbolic tangent of a polynomial, at most 1.5e-7 off."""
    u = node.apply(OperationCode.RELU1, times(node, x, scale / 4))
    square = multiply(node, u, u)
    *rest, last = ERROR_FUNCTION
    sum = times(node, square, last)
    for factor in rest[:0:-1]:
        sum = multiply(node, plus(node, sum, factor), square)
    return node.apply(OperationCode.TANH, multiply(node, plus(node, sum, rest[0]), u))
