"""Operations on each element that NNAPI does not have, written as a few that it has."""

from __future__ import annotations

import math

from nnapi.codes import OperationCode
from nnapi.importers.arithmetic import add, divide, multiply, plus, subtract, times, truth
from nnapi.importers.graph import INT32, Value
from nnapi.importers.onnx.layout import align
from nnapi.importers.onnx.node import Node
from nnapi.importers.onnx.rules import rule
from nnapi.importers.onnx.rules.comparison import select
from nnapi.importers.onnx.rules.elementwise import as_bytes, divide_towards_zero, floats, real_input
from nnapi.importers.onnx.tensors import BYTES, Tensor
from nnapi.importers.refusals import expressible


def floor(node: Node, x: Value) -> Value:
    return node.apply(OperationCode.FLOOR, x)


def negate(node: Node, x: Value) -> Value:
    return node.apply(OperationCode.NEG, x)


def exponential(node: Node, x: Value) -> Value:
    return node.apply(OperationCode.EXP, x)


@rule("Ceil")
def ceil(node: Node) -> Tensor:
    x, layout = real_input(node)
    return layout.result(node, negate(node, floor(node, negate(node, x))))


@rule("Round")
def round_half_even(node: Node) -> Tensor:
    """The nearest integer; of two equally near ones the even one, which is twice a rounded half."""
    x, layout = real_input(node)
    return layout.result(node, nearest_integer(node, x))


def nearest_integer(node: Node, x: Value) -> Value:
    """The nearest integer; of two equally near ones the even one."""
    low = floor(node, x)
    rest = subtract(node, x, low)
    half = node.like(x, 0.5)
    even = times(node, floor(node, times(node, plus(node, low, 1), 0.5)), 2)
    nearest = select(node, truth(node, OperationCode.GREATER, rest, half), plus(node, low, 1), low, x.shape)
    return select(node, truth(node, OperationCode.EQUAL, rest, half), even, nearest, x.shape)


@rule("Sign")
def sign(node: Node) -> Tensor:
    """1 above zero, -1 below it, 0 at it."""
    x, layout = real_input(node)
    expressible(node.tensor(0).elem not in BYTES, "NNAPI has no signs of bytes")
    zero = node.like(x, 0)
    low = select(node, truth(node, OperationCode.LESS, x, zero), node.like(x, -1), zero, x.shape)
    return layout.result(node, select(node, truth(node, OperationCode.GREATER, x, zero), node.like(x, 1), low, x.shape))


@rule("Reciprocal")
def reciprocal(node: Node) -> Tensor:
    x, layout = real_input(node)
    return layout.result(node, divide(node, node.like(x, 1), x))


@rule("Cos")
def cos(node: Node) -> Tensor:
    x, layout = real_input(node)
    return layout.result(node, node.apply(OperationCode.SIN, plus(node, x, math.pi / 2)))


@rule("Tan")
def tan(node: Node) -> Tensor:
    x, layout = real_input(node)
    along = node.apply(OperationCode.SIN, plus(node, x, math.pi / 2))
    return layout.result(node, divide(node, node.apply(OperationCode.SIN, x), along))


@rule("Sinh", "Cosh")
def hyperbolic(node: Node) -> Tensor:
    """Half of exp(x) and exp(-x), of their difference or their sum."""
    x, layout = real_input(node)
    up, down = exponential(node, x), exponential(node, negate(node, x))
    both = (subtract if node.kind == "Sinh" else add)(node, up, down)
    return layout.result(node, times(node, both, 0.5))


@rule("Asinh", "Acosh")
def inverse_hyperbolic(node: Node) -> Tensor:
    """log(|x| + sqrt(x² ± 1)), with the sign of x."""
    x, layout = real_input(node)
    size = node.apply(OperationCode.ABS, x) if node.kind == "Asinh" else x
    below = plus(node, multiply(node, x, x), 1 if node.kind == "Asinh" else -1)
    log = node.apply(OperationCode.LOG, add(node, size, node.apply(OperationCode.SQRT, below)))
    if node.kind == "Acosh":
        return layout.result(node, log)
    negative = truth(node, OperationCode.LESS, x, node.like(x, 0))
    return layout.result(node, select(node, negative, negate(node, log), log, x.shape))


@rule("Atanh")
def atanh(node: Node) -> Tensor:
    """Half the logarithm of (1 + x) / (1 - x)."""
    x, layout = real_input(node)
    ratio = divide(node, plus(node, x, 1), subtract(node, node.like(x, 1), x))
    return layout.result(node, times(node, node.apply(OperationCode.LOG, ratio), 0.5))


def arctangent(node: Node, x: Value) -> Value:
    """By the half angle twice, x / (1 + sqrt(1 + x²)), then the series, which converges fast below tan(π/8)."""
    for _ in range(2):
        root = node.apply(OperationCode.SQRT, plus(node, multiply(node, x, x), 1))
        x = divide(node, x, plus(node, root, 1))
    square = multiply(node, x, x)
    series = node.like(x, 1 / 17)
    for odd in range(15, 0, -2):
        series = subtract(node, node.like(x, 1 / odd), multiply(node, series, square))
    return times(node, multiply(node, x, series), 4)


@rule("Atan")
def atan(node: Node) -> Tensor:
    """Above 1 by the reciprocal, of which the square stays finite."""
    x, layout = real_input(node)
    size = node.apply(OperationCode.ABS, x)
    is_large = truth(node, OperationCode.GREATER, size, node.like(x, 1))
    small = node.apply(OperationCode.MINIMUM, size, node.like(x, 1))
    inverse = divide(node, node.like(x, 1), node.apply(OperationCode.MAXIMUM, size, node.like(x, 1)))
    angle = arctangent(node, select(node, is_large, inverse, small, x.shape))
    whole = select(node, is_large, subtract(node, node.like(x, math.pi / 2), angle), angle, x.shape)
    negative = truth(node, OperationCode.LESS, x, node.like(x, 0))
    return layout.result(node, select(node, negative, negate(node, whole), whole, x.shape))


@rule("Asin", "Acos")
def arcsine(node: Node) -> Tensor:
    """2 atan(x / (1 + sqrt(1 - x²)))."""
    x, layout = real_input(node)
    rest = multiply(node, subtract(node, node.like(x, 1), x), plus(node, x, 1))
    ratio = divide(node, x, plus(node, node.apply(OperationCode.SQRT, rest), 1))
    angle = times(node, arctangent(node, ratio), 2)
    return layout.result(node, angle if node.kind == "Asin" else subtract(node, node.like(x, math.pi / 2), angle))


@rule("Sum", "Mean")
def total(node: Node) -> Tensor:
    values, layout = floats(node, *range(node.count))
    found, *rest = values
    for value in rest:
        found = add(node, found, value)
    return layout.result(node, times(node, found, 1 / node.count) if node.kind == "Mean" else found)


@rule("Mod")
def mod(node: Node) -> Tensor:
    """x - q y, where q is the quotient rounded down, or towards zero where ``fmod`` says so."""
    values, layout = align(node, 0, 1)
    bytes, fmod = node.tensor(0).elem in BYTES, bool(node.attribute("fmod", 0))
    x, y = [node.cast(value, INT32) if bytes else node.graph.real(value) for value in values]
    if x.type.code == INT32:
        whole = divide_towards_zero(node, x, y) if fmod else divide(node, x, y)
    else:
        expressible(fmod, "the remainder of floats without fmod is none of ONNX's")
        size = floor(node, node.apply(OperationCode.ABS, divide(node, x, y)))
        negative = truth(node, OperationCode.LESS, divide(node, x, y), node.like(x, 0))
        whole = select(node, negative, negate(node, size), size, size.shape)
    result = subtract(node, x, multiply(node, whole, y))
    return layout.result(node, as_bytes(node, result, values[0].type) if bytes else result, node.tensor(0).elem)
