"""Activations that files write as several operations."""

import math

from nnapi.codes import OperationCode as O
from nnapi.importers.graph import Value
from nnapi.importers.recognition.pattern import Any, Either, Power, apply
from nnapi.importers.recognition.rewriter import Replacement, Rewriter, pattern
from nnapi.operation_codes import CompositeCode as Composite
from nnapi.ops.smooth_activations import CUBIC

x = Any("x", lambda value: value.is_float)
erf, tanh, exp, log, absolute, relu = map(apply, (Composite.ERF, O.TANH, O.EXP, O.LOG, O.ABS, O.RELU))
cube = Either((Power(x, 3), x * x * x))
softplus = relu(x) + log(1 + exp(-absolute(x)))
any_softplus = Either((softplus, log(1 + exp(x)), apply(Composite.SOFTPLUS)(x)))


@pattern(x * (1 + erf(x * math.sqrt(0.5))) * 0.5)
def gelu(rewriter: Rewriter, x: Value) -> Replacement:
    return Replacement(Composite.GELU, [x, rewriter.flag(False)])


@pattern(
    x * (1 + tanh((x + cube * CUBIC) * math.sqrt(2 / math.pi))) * 0.5,
    x * (1 + tanh(x * (1 + Power(x, 2) * CUBIC) * math.sqrt(2 / math.pi))) * 0.5,
)
def gelu_by_tanh(rewriter: Rewriter, x: Value) -> Replacement:
    return Replacement(Composite.GELU, [x, rewriter.flag(True)])


@pattern(x * tanh(any_softplus))
def mish(rewriter: Rewriter, x: Value) -> Replacement:
    return Replacement(Composite.MISH, [x])


@pattern(softplus)
def softplus_of_large(rewriter: Rewriter, x: Value) -> Replacement:
    """Replace the form that stays finite: log(1 + exp(x)) is infinite for large x."""
    return Replacement(Composite.SOFTPLUS, [x])
