"""Arithmetic in between, for rules of every format: an operation or a few of NNAPI's, and the value they give."""

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
    """A comparison."""
    return node.apply(code, x, y, type=OperandType(BOOL8))


def choose(node: Node, condition: Value, x: Value, y: Value) -> Value:
    """x where the condition holds, else y; all of one shape."""
    return node.apply(OperationCode.SELECT, condition, x, y, type=x.type)


def broadcast(node: Node, value: Value, shape: Shape) -> Value:
    """A value repeated until it has ``shape``, to which its own must stretch."""
    if value.shape == shape:
        return value
    own = (1,) * (len(shape) - value.rank) + node.static_shape_of(value)
    type = value.type.with_dimensions(shape)
    if value.array is not None and node.graph.allowance.grants(type.nbytes):
        return Value(type, value.name, np.broadcast_to(value.array.reshape(own), shape).copy())
    counts = [want // have for want, have in zip(shape, own, strict=True)]
    return node.apply(OperationCode.TILE, node.reshape(value, own), node.graph.ints(counts), shape=shape)


def error_function(node: Node, x: Value) -> Value:
    """erf by formula 7.1.26 of Abramowitz and Stegun, at most 1.5e-7 off: 1 - p(t) exp(-x²) with the sign of x."""
    size = node.apply(OperationCode.ABS, x)
    one = node.like(x, 1)
    t = divide(node, one, plus(node, times(node, size, 0.3275911), 1))
    p = node.like(x, 1.061405429)
    for factor in (-1.453152027, 1.421413741, -0.284496736, 0.254829592, 0.0):
        p = plus(node, multiply(node, p, t), factor) if factor else multiply(node, p, t)
    tail = subtract(node, one, multiply(node, p, bell(node, x)))
    unit = node.apply(OperationCode.RELU1, times(node, x, 1e30))
    return multiply(node, tail, unit)


def bell(node: Node, x: Value) -> Value:
    """exp(-x²), as a quotient of LOGISTIC, which more drivers compute than EXP, and closely where it is not above 1."""
    square = multiply(node, x, x)
    rest = node.apply(OperationCode.LOGISTIC, node.apply(OperationCode.NEG, square))
    return divide(node, rest, node.apply(OperationCode.LOGISTIC, square))
