"""Functions of each element."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nnapi.drivers.openvino.api import op
from nnapi.drivers.openvino.context import Context, integers, lower
from nnapi.drivers.openvino.value import Node, Value, decode_exactly, number
from nnapi.model.operation import Operation
from nnapi.ops import elementwise, logical_not


def lower_each(operation: Operation, function: Callable[[Node], Node]) -> None:
    """Register a rule that applies a function to each element."""

    @lower(operation)
    def rule(context: Context, **operands: Value) -> Value:
        (input,) = operands.values()
        first = input.is_channels_first
        return context.result(function(input.real(first)), first=first)


lower_each(elementwise.FLOOR, op.floor)
lower_each(elementwise.LOG, op.log)
lower_each(elementwise.NEG, op.negative)
lower_each(elementwise.SIN, op.sin)
lower_each(elementwise.SQRT, op.sqrt)
lower_each(logical_not.LOGICAL_NOT, op.logical_not)


@lower(elementwise.ABS)
def abs_(context: Context, input: Value) -> Value:
    """A tensor of rank 1 becomes one of rank 2: the engine moves ABS of rank 1 before a concatenation that has other
    readers."""
    x, first = input.real(input.is_channels_first), input.is_channels_first
    if input.type.rank != 1:
        return context.result(op.abs(x), first=first)
    row = op.reshape(x, integers([1, input.type.size]), False)
    return context.result(op.reshape(op.abs(row), integers([input.type.size]), False))


@lower(elementwise.EXP)
def exp(context: Context, input: Value) -> Value:
    """Square the exponential of x / 2: the engine's own is infinite where the result is finite, but large."""
    first = input.is_channels_first
    root = op.exp(op.multiply(input.real(first), number(0.5)))
    return context.result(op.multiply(root, root), first=first)


@lower(elementwise.RSQRT)
def rsqrt(context: Context, input: Value) -> Value:
    """Where x ≤ 0 the result is infinite, and quantized the highest value: so 0 must be exact."""
    first = input.is_channels_first
    if input.type.is_quantized:
        exact = decode_exactly(input.node("stored", first), input.type)
        x = op.maximum(exact, number(float(np.finfo(np.float32).tiny)))
    else:
        x = input.real(first)
    return context.result(op.divide(number(1), op.sqrt(x)), first=first)
