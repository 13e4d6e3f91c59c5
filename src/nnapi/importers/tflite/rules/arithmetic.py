"""Operations on each element that NNAPI does not have, written as a few that it has; arithmetic for other rules."""

from __future__ import annotations

import math

import numpy as np

from nnapi.codes import OperationCode
from nnapi.importers.graph import BOOL8, Value
from nnapi.importers.tflite.node import Node
from nnapi.importers.tflite.rules import rule
from nnapi.importers.tflite.rules.movement import transpose
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
    own = (1,) * (len(shape) - value.rank) + node.known(value)
    type = value.type.with_dimensions(shape)
    if value.array is not None and node.graph.allowance.grants(type.nbytes):
        return Value(type, value.name, np.broadcast_to(value.array.reshape(own), shape).copy())
    counts = [want // have for want, have in zip(shape, own, strict=True)]
    return node.apply(OperationCode.TILE, node.reshape(value, own), node.graph.ints(counts), shape=shape)


def _floor(node: Node, x: Value) -> Value:
    return node.apply(OperationCode.FLOOR, x)


@rule("FLOOR_DIV")
def floor_div(node: Node) -> None:
    x, y = node.reals()
    quotient = divide(node, x, y)
    node.deliver(_floor(node, quotient) if quotient.is_float else quotient)


@rule("FLOOR_MOD")
def floor_mod(node: Node) -> None:
    """x - floor(x / y) y."""
    x, y = node.reals()
    quotient = divide(node, x, y)
    whole = _floor(node, quotient) if quotient.is_float else quotient
    node.deliver(subtract(node, x, multiply(node, whole, y)))


@rule("CEIL")
def ceil(node: Node) -> None:
    x = node.graph.real(node.input(0))
    node.deliver(node.apply(OperationCode.NEG, _floor(node, node.apply(OperationCode.NEG, x))))


@rule("ROUND")
def round_half_even(node: Node) -> None:
    """The nearest integer; of two equally near ones the even one, which is twice a rounded half."""
    x = node.graph.real(node.input(0))
    low = _floor(node, x)
    rest = subtract(node, x, low)
    even = times(node, _floor(node, times(node, plus(node, low, 1), 0.5)), 2)
    half = broadcast(node, node.like(x, 0.5), node.known(x))
    nearest = choose(node, truth(node, OperationCode.GREATER, rest, half), plus(node, low, 1), low)
    node.deliver(choose(node, truth(node, OperationCode.EQUAL, rest, half), even, nearest))


@rule("SIGN")
def sign(node: Node) -> None:
    """1 above zero, -1 below it, 0 at it."""
    x = node.graph.real(node.input(0))
    shape, zero = node.known(x), node.like(x, 0)
    below, none, above = (broadcast(node, node.like(x, number), shape) for number in (-1, 0, 1))
    low = choose(node, truth(node, OperationCode.LESS, x, zero), below, none)
    node.deliver(choose(node, truth(node, OperationCode.GREATER, x, zero), above, low))


@rule("COS", "STABLEHLO_COSINE")
def cos(node: Node) -> None:
    x = node.graph.real(node.input(0))
    node.deliver(node.apply(OperationCode.SIN, plus(node, x, math.pi / 2)))


@rule("GELU", options="GeluOptions")
def gelu(node: Node) -> None:
    """x times the normal distribution's probability of being below x."""
    x = node.graph.real(node.input(0))
    if node.options.approximate:
        cube = multiply(node, multiply(node, x, x), x)
        inner = times(node, add(node, x, times(node, cube, 0.044715)), math.sqrt(2 / math.pi))
        spread = node.apply(OperationCode.TANH, inner)
    else:
        spread = error_function(node, times(node, x, math.sqrt(0.5)))
    node.deliver(multiply(node, times(node, x, 0.5), plus(node, spread, 1)))


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


@rule("CUMSUM", options="CumsumOptions")
def cumsum(node: Node) -> None:
    """A product with a triangle of ones."""
    o, x = node.options, node.graph.real(node.input(0))
    shape = node.known(x)
    axis = node.axis(node.number(1), x.rank)
    n = shape[axis]
    node.graph.reserve(x.type.dtype.itemsize * n * n)
    triangle = np.tri(n, n, -1 if o.exclusive else 0, x.type.dtype)
    triangle = triangle if o.reverse else triangle.T
    order = [*(i for i in range(x.rank) if i != axis), axis]
    last = x if order == sorted(order) else transpose(node, x, order)
    rows = node.reshape(last, (math.prod(shape) // n, n))
    matrix = node.graph.constant(triangle)
    summed = node.apply(OperationCode.BATCH_MATMUL, rows, matrix, node.flag(False), node.flag(False), shape=rows.shape)
    back = node.reshape(summed, last.shape)
    node.deliver(back if last is x else transpose(node, back, np.argsort(order).tolist()))
