"""Rounding and signs as files have them that nnapi wrote for engines and formats without these operations."""

from nnapi.codes import OperationCode as O
from nnapi.importers.graph import Value
from nnapi.importers.recognition.pattern import Constant, Operand, apply
from nnapi.importers.recognition.rewriter import Replacement, StepRewriter, pattern
from nnapi.operation_codes import CompositeCode as Composite

x = Operand("x", lambda value: value.is_float)
floor, select, equal, greater, less = map(apply, (O.FLOOR, O.SELECT, O.EQUAL, O.GREATER, O.LESS))
low = floor(x)
rest, above = x - low, low + 1
even = floor(above * 0.5) * 2
zero, half, one = Constant(0), Constant(0.5), Constant(1)


@pattern(select(equal(rest, half), even, select(greater(rest, half), above, low)))
def round_half_to_even(rewriter: StepRewriter, x: Value) -> Replacement:
    return Replacement(Composite.ROUND, [x])


@pattern(select(greater(x, zero), one, select(less(x, zero), Constant(-1), zero)))
def sign(rewriter: StepRewriter, x: Value) -> Replacement:
    return Replacement(Composite.SIGN, [x])
