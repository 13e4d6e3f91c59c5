"""Operations on each element that NNAPI does not have, written as a few that it has."""

from __future__ import annotations

import math

import numpy as np

from nnapi.codes import OperationCode
from nnapi.importers.arithmetic import (
    add,
    broadcast,
    choose,
    divide,
    error_function,
    multiply,
    plus,
    subtract,
    times,
    truth,
)
from nnapi.importers.graph import Value
from nnapi.importers.movement import transpose
from nnapi.importers.tflite.node import TfliteNode
from nnapi.importers.tflite.rules import rule


def _floor(node: TfliteNode, x: Value) -> Value:
    return node.apply(OperationCode.FLOOR, x)


@rule("FLOOR_DIV")
def floor_div(node: TfliteNode) -> None:
    x, y = node.reals()
    quotient = divide(node, x, y)
    node.deliver(_floor(node, quotient) if quotient.is_float else quotient)


@rule("FLOOR_MOD")
def floor_mod(node: TfliteNode) -> None:
    """x - floor(x / y) y."""
    x, y = node.reals()
    quotient = divide(node, x, y)
    whole = _floor(node, quotient) if quotient.is_float else quotient
    node.deliver(subtract(node, x, multiply(node, whole, y)))


@rule("CEIL")
def ceil(node: TfliteNode) -> None:
    x = node.graph.real(node.input(0))
    node.deliver(node.apply(OperationCode.NEG, _floor(node, node.apply(OperationCode.NEG, x))))


@rule("ROUND")
def round_half_even(node: TfliteNode) -> None:
    """The nearest integer; of two equally near ones the even one, which is twice a rounded half."""
    x = node.graph.real(node.input(0))
    low = _floor(node, x)
    rest = subtract(node, x, low)
    even = times(node, _floor(node, times(node, plus(node, low, 1), 0.5)), 2)
    half = broadcast(node, node.like(x, 0.5), node.static_shape_of(x))
    nearest = choose(node, truth(node, OperationCode.GREATER, rest, half), plus(node, low, 1), low)
    node.deliver(choose(node, truth(node, OperationCode.EQUAL, rest, half), even, nearest))


@rule("SIGN")
def sign(node: TfliteNode) -> None:
    """1 above zero, -1 below it, 0 at it."""
    x = node.graph.real(node.input(0))
    shape, zero = node.static_shape_of(x), node.like(x, 0)
    below, none, above = (broadcast(node, node.like(x, number), shape) for number in (-1, 0, 1))
    low = choose(node, truth(node, OperationCode.LESS, x, zero), below, none)
    node.deliver(choose(node, truth(node, OperationCode.GREATER, x, zero), above, low))


@rule("COS", "STABLEHLO_COSINE")
def cos(node: TfliteNode) -> None:
    x = node.graph.real(node.input(0))
    node.deliver(node.apply(OperationCode.SIN, plus(node, x, math.pi / 2)))


@rule("GELU")
def gelu(node: TfliteNode) -> None:
    """x times the normal distribution's probability of being below x."""
    x = node.graph.real(node.input(0))
    if node.options.approximate:
        cube = multiply(node, multiply(node, x, x), x)
        inner = times(node, add(node, x, times(node, cube, 0.044715)), math.sqrt(2 / math.pi))
        spread = node.apply(OperationCode.TANH, inner)
    else:
        spread = error_function(node, x, math.sqrt(0.5))
    node.deliver(multiply(node, times(node, x, 0.5), plus(node, spread, 1)))


@rule("CUMSUM")
def cumsum(node: TfliteNode) -> None:
    """A product with a triangle of ones."""
    o, x = node.options, node.graph.real(node.input(0))
    shape = node.static_shape_of(x)
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
