"""Two numbers in, one out; sizes of 1 are stretched."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import openvino.opset15 as op

from nnapi.codes import OperandCode
from nnapi.drivers.openvino.lowering import lower
from nnapi.drivers.openvino.site import Site, computes_first, integers, need
from nnapi.drivers.openvino.value import NHWC_TO_NCHW, Node, Value, number
from nnapi.model.operation import Operation
from nnapi.ops import broadcast, comparisons, pairwise, prelu, select
from nnapi.ops.quantization import same_quantization
from nnapi.ops.types import INT32

Function = Callable[..., Node]


def aligned(values: Sequence[Value]) -> tuple[list[Node], bool]:
    """Nodes of one rank that broadcast, and whether they are NCHW.

    The engine stretches lower ranks too, but may then forget the axes of extent 1 of the others.
    """
    rank = max(value.type.rank for value in values)
    first = rank == 4 and computes_first(*values)
    return [_of_rank(value, rank, first) for value in values], first


def _of_rank(value: Value, rank: int, first: bool) -> Node:
    if value.type.rank == rank:
        return value.real(first)
    shape = (1,) * (rank - value.type.rank) + value.type.dimensions
    if value.array is not None and not value.type.channel:
        return Value(value.type.with_dimensions(shape), value.name, value.array.reshape(shape)).real(first)
    node = op.reshape(value.real(), integers(shape), False)
    return op.transpose(node, integers(NHWC_TO_NCHW)) if first else node


def _pair(operation: Operation, function: Function) -> None:
    @lower(operation)
    def rule(site: Site, **operands: Value) -> Value:
        (x, y), first = aligned(list(operands.values()))
        return site.result(function(x, y), first=first)


for _operation, _function in (
    (broadcast.ADD, op.add),
    (broadcast.SUB, op.subtract),
    (broadcast.MUL, op.multiply),
    (pairwise.MAXIMUM, op.maximum),
    (pairwise.MINIMUM, op.minimum),
    (pairwise.POW, op.power),
    (pairwise.LOGICAL_AND, op.logical_and),
    (pairwise.LOGICAL_OR, op.logical_or),
):
    _pair(_operation, _function)


@lower(broadcast.DIV)
def div(site: Site, lhs: Value, rhs: Value) -> Value:
    need(lhs.type.code != INT32, f"{lhs.name} is TENSOR_INT32, of which the engine's quotients are not exact")
    (x, y), first = aligned([lhs, rhs])
    return site.result(op.divide(x, y), first=first)


def _comparison(operation: Operation, function: Function) -> None:
    @lower(operation)
    def rule(site: Site, x: Value, y: Value) -> Value:
        if not x.type.is_quantized:
            nodes, first = aligned([x, y])
            return site.result(function(*nodes), first=first)
        need(
            same_quantization(x.type, y.type),
            f"{x.name} and {y.name} differ in scale or zero point, and the engine may see equal numbers as unequal",
        )
        return site.result(function(*(op.convert(value.node("stored"), "i32") for value in (x, y))))


for _operation, _function in (
    (comparisons.EQUAL, op.equal),
    (comparisons.NOT_EQUAL, op.not_equal),
    (comparisons.GREATER, op.greater),
    (comparisons.GREATER_EQUAL, op.greater_equal),
    (comparisons.LESS, op.less),
    (comparisons.LESS_EQUAL, op.less_equal),
):
    _comparison(_operation, _function)


@lower(prelu.PRELU)
def prelu_slope(site: Site, input: Value, alpha: Value) -> Value:
    (x, slope), first = aligned([input, alpha])
    if site.type().dimensions == input.type.dimensions and alpha.array is not None:
        return site.result(op.prelu(x, slope), first=first)
    return site.result(op.select(op.greater_equal(x, number(0)), x, op.multiply(slope, x)), first=first)


@lower(select.SELECT)
def select_by(site: Site, condition: Value, a: Value, b: Value) -> Value:
    (truth, x, y), first = aligned([condition, a, b])
    same = all(same_quantization(value.type, site.type()) for value in (a, b))
    if not same or a.type.code in (OperandCode.TENSOR_FLOAT16,):
        return site.result(op.select(truth, x, y), first=first)
    return Value.of(op.select(truth, x, y), site.type(), "real", first=first)
