"""Activations that files write as several operations."""

import math

from nnapi.codes import OperationCode as O
from nnapi.importers.graph import Value
from nnapi.importers.recognition.pattern import Either, Operand, Pattern, Power, apply
from nnapi.importers.recognition.rewriter import Replacement, StepRewriter, pattern
from nnapi.operation_codes import CompositeCode as Composite
from nnapi.ops.smooth_activations import CUBIC, ERROR_FUNCTION, SCALE

x = Operand("x", lambda value: value.is_float)
tanh, exp, log, absolute, relu, relu1 = map(apply, (O.TANH, O.EXP, O.LOG, O.ABS, O.RELU, O.RELU1))


def polynomial_of_erf(x: Pattern) -> Pattern:
    """Return erf(x) as files have it that nnapi wrote for engines and formats without ERF."""
    u = relu1(x * (1 / SCALE))
    first, *rest, last = ERROR_FUNCTION
    total = Power(u, 2) * last
    for factor in reversed(rest):
        total = (total + factor) * Power(u, 2)
    return tanh((total + first) * u)


cube = Either((Power(x, 3), x * x * x))
softplus = relu(x) + log(1 + exp(-absolute(x)))
any_softplus = Either((softplus, log(1 + exp(x)), apply(Composite.SOFTPLUS)(x)))


@pattern(*(x * (1 + form(x * math.sqrt(0.5))) * 0.5 for form in (apply(Composite.ERF), polynomial_of_erf)))
def gelu(rewriter: StepRewriter, x: Value) -> Replacement:
    return Replacement(Composite.GELU, [x, rewriter.flag(False)])


@pattern(polynomial_of_erf(x))
def error_function(rewriter: StepRewriter, x: Value) -> Replacement:
    return Replacement(Composite.ERF, [x])


@pattern(
    x * (1 + tanh((x + cube * CUBIC) * math.sqrt(2 / math.pi))) * 0.5,
    x * (1 + tanh(x * (1 + Power(x, 2) * CUBIC) * math.sqrt(2 / math.pi))) * 0.5,
)
def gelu_by_tanh(rewriter: StepRewriter, x: Value) -> Replacement:
    return Replacement(Composite.GELU, [x, rewriter.flag(True)])


@pattern(x * tanh(any_softplus))
def mish(rewriter: StepRewriter, x: Value) -> Replacement:
    return Replacement(Composite.MISH, [x])


@pattern(softplus)
def softplus_of_large(rewriter: StepRewriter, x: Value) -> Replacement:
    """Replace the form that stays finite: log(1 + exp(x)) is infinite for large x."""
    return Replacement(Composite.SOFTPLUS, [x])
