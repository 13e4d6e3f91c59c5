"""ABS, NEG, RSQRT, LOGICAL_NOT."""

from nnapi.codes import OperationCode as Op
from nnapi.lowering.decomposition_builder import RULES
from nnapi.lowering.decompositions.binary import as_numbers

RULES.own.update(
    {
        Op.NEG: lambda b, input: b.mul(input, b.number(input, -1), 0),
        Op.ABS: lambda b, input: b.maximum(input, b.neg(input)),
        Op.RSQRT: lambda b, input: b.div(b.number(input, 1), b.sqrt(input), 0),
        Op.LOGICAL_NOT: lambda b, x: b.equal(as_numbers(b, x), b.zeros(1)),
    }
)
