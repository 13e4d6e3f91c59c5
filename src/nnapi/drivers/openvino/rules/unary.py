"""Functions of one element."""

from typing import Any

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.drivers.openvino.api import op
from nnapi.drivers.openvino.context import OpenvinoContext, lower
from nnapi.drivers.openvino.sizes import reshape
from nnapi.drivers.openvino.value import Value, number
from nnapi.operation_codes import Code
from nnapi.operation_codes import CompositeCode as Composite

FUNCTIONS: dict[Code, Any] = {
    Op.FLOOR: op.floor,
    Op.LOG: op.log,
    Op.NEG: op.negative,
    Op.SIN: op.sin,
    Op.SQRT: op.sqrt,
    Op.LOGICAL_NOT: op.logical_not,
    Composite.CEIL: op.ceiling,
    Composite.ROUND: lambda x: op.round(x, "half_to_even"),
    Composite.SIGN: op.sign,
}


@lower(*FUNCTIONS)
def function(context: OpenvinoContext, **operands: Value) -> Value:
    return context.map(FUNCTIONS[context.code], *operands.values())


@lower(Op.ABS)
def absolute(context: OpenvinoContext, input: Value) -> Value:
    """Compute ABS of rank 1 in rank 2: else the engine moves it before a concatenation that also has other readers."""
    if input.type.rank != 1:
        return context.map(op.abs, input)
    row = reshape(input.real(), [1, input.type.size])
    return context.result(reshape(op.abs(row), [input.type.size]))


@lower(Op.EXP)
def exp(context: OpenvinoContext, input: Value) -> Value:
    """Square the exponential of x / 2: the engine's own is infinite for some large, finite results."""
    first = input.is_channels_first
    root = op.exp(op.multiply(input.real(first), number(0.5)))
    return context.result(op.multiply(root, root), first=first)


@lower(Op.RSQRT)
def rsqrt(context: OpenvinoContext, input: Value) -> Value:
    """Compute quantized operands exactly: for 0, the result is infinite, so its quantized value is the highest."""
    if not input.type.is_quantized:
        return context.map(lambda x: op.divide(number(1), op.sqrt(x)), input)
    first = input.is_channels_first
    x = op.maximum(input.exact(first), number(float(np.finfo(np.float32).tiny)))
    return context.result(op.divide(number(1), op.sqrt(x)), first=first)
