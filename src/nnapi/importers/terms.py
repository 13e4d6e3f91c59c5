"""Terms: values with Python's operators, each of which appends an operation of NNAPI."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from nnapi.codes import OperandCode
from nnapi.codes import OperationCode as O
from nnapi.importers.broadcasting import broadcast, broadcast_shape
from nnapi.importers.graph import BOOL8, FLOAT32, Value
from nnapi.importers.graph_emitter import FLOAT16, GraphEmitter
from nnapi.model.arithmetic import FUSING, Arithmetic
from nnapi.model.operand import OperandType, Shape
from nnapi.operation_codes import Code, CompositeCode

SIGNED = OperandCode.TENSOR_QUANT8_ASYMM_SIGNED


class Term(Arithmetic):
    """A value in a formula. Python numbers in the formula become constants of its type.

    ``node`` emits operations. Rules of a format may read its attributes.
    """

    def __init__(self, node: Any, value: Value) -> None:
        self.node, self.value = node, value

    def apply(self, code: Code, *others: Term | float, type: OperandType | None = None) -> Term:
        operands = [self.beside(each).value for each in others]
        if code in FUSING:
            operands.append(self.node.i32(0))
        shape = None if any(isinstance(each, Term) for each in others) else self.value.shape
        return Term(self.node, self.node.apply(code, self.value, *operands, shape=shape, type=type))

    def beside(self, number: Term | float) -> Term:
        return number if isinstance(number, Term) else Term(self.node, self.node.like(self.value, number))

    def compare(self, code: O, other: Term | float) -> Term:
        return self.apply(code, other, type=OperandType(BOOL8))


def _function(code: Code) -> Callable[[Term], Term]:
    return lambda x: x.apply(code)


exp, log, sqrt, sin, floor = map(_function, (O.EXP, O.LOG, O.SQRT, O.SIN, O.FLOOR))
logistic, relu, tanh = map(_function, (O.LOGISTIC, O.RELU, O.TANH))
ceil, nearest_integer, sign, error_function, softplus, mish = map(
    _function,
    (
        CompositeCode.CEIL,
        CompositeCode.ROUND,
        CompositeCode.SIGN,
        CompositeCode.ERF,
        CompositeCode.SOFTPLUS,
        CompositeCode.MISH,
    ),
)


def in_float32(formula: Callable[[Term], Term]) -> Callable[[Term], Term]:
    """Compute a formula of float16 values in float32, where no intermediate result overflows or vanishes."""

    def compute(x: Term) -> Term:
        if x.value.type.code != FLOAT16:
            return formula(x)
        found = formula(x.apply(O.CAST, type=OperandType(FLOAT32)))
        return found.apply(O.CAST, type=OperandType(FLOAT16))

    return compute


def choose(condition: Term, x: Term | float, y: Term) -> Term:
    node, values = y.node, (condition.value, y.beside(x).value, y.value)
    return Term(node, select(node, *values, broadcast_shape([value.shape for value in values])))


def select(emitter: GraphEmitter, condition: Value, x: Value, y: Value, shape: Shape) -> Value:
    """Broadcast the three values to ``shape``, and select x where the condition is true, else y."""
    condition, x, y = (broadcast(emitter, value, shape) for value in (condition, x, y))
    return emitter.apply(O.SELECT, condition, x, y, type=x.type.with_dimensions(()))


def cosine(x: Term) -> Term:
    return sin(x + math.pi / 2)


def gelu(x: Term, *, is_approximate: bool) -> Term:
    flag = x.node.flag(is_approximate)
    return Term(x.node, x.node.apply(CompositeCode.GELU, x.value, flag, shape=x.value.shape))


def divide_towards_zero(x: Term, y: Term) -> Term:
    """Divide integers, rounding towards zero; NNAPI's DIV rounds down. No step leaves 32 bits."""
    divisor = y.value.array
    if divisor is not None and divisor.size == 1 and abs(int(divisor.item())) in range(1, 2**31):
        size = abs(int(divisor.item()))
        below = x.apply(O.MAXIMUM, -1).apply(O.MINIMUM, 0)  # -1 for negative integers, else 0
        quotient = (x - below * (size - 1)) / size if size > 1 else x
        return quotient if divisor.item() > 0 else -quotient
    quotient = x / y
    rest = x - quotient * y
    is_short = (rest < 0).compare(O.NOT_EQUAL, x < 0)  # the remainder has the sign of the divisor
    is_inexact = rest.compare(O.NOT_EQUAL, 0)
    differs = is_short.apply(O.LOGICAL_AND, is_inexact, type=OperandType(BOOL8))
    return choose(differs, quotient + 1, quotient)


def as_bytes(emitter: GraphEmitter, value: Value, type: OperandType) -> Value:
    """Return the lowest 8 bits of an int32 as plain bytes."""
    return emitter.apply(CompositeCode.CONVERT, value, shape=value.shape, type=OperandType(type.code, (), 1.0, 0))
