"""Comparisons, logic, choices."""

from __future__ import annotations

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.importers.arithmetic import broadcast
from nnapi.importers.graph import BOOL8, FLOATS, QUANT8, Value
from nnapi.importers.onnx.layout import align
from nnapi.importers.onnx.node import Node
from nnapi.importers.onnx.rules import rule
from nnapi.importers.onnx.rules.elementwise import real_input
from nnapi.importers.onnx.tensors import BOOL, BYTES, Tensor
from nnapi.importers.refusals import expressible
from nnapi.model.operand import OperandType, Shape

COMPARISONS = {
    "And": OperationCode.LOGICAL_AND,
    "Or": OperationCode.LOGICAL_OR,
    "Xor": OperationCode.NOT_EQUAL,
    "Equal": OperationCode.EQUAL,
    "Greater": OperationCode.GREATER,
    "GreaterOrEqual": OperationCode.GREATER_EQUAL,
    "Less": OperationCode.LESS,
    "LessOrEqual": OperationCode.LESS_EQUAL,
}
EXTREMES = {"Max": OperationCode.MAXIMUM, "Min": OperationCode.MINIMUM}
LARGEST = {OperandCode.TENSOR_FLOAT32: float(np.finfo(np.float32).max), OperandCode.TENSOR_FLOAT16: 65504.0}


@rule(*COMPARISONS)
def compare(node: Node) -> Tensor:
    values, layout = align(node, 0, 1)
    if node.tensor(0).elem not in BYTES:
        values = [node.graph.real(value) for value in values]
    return layout.result(node, node.apply(COMPARISONS[node.kind], *values, type=OperandType(BOOL8)), BOOL)


@rule("Not")
def logical_not(node: Node) -> Tensor:
    x, layout = real_input(node)
    return layout.result(node, node.apply(OperationCode.LOGICAL_NOT, x), BOOL)


@rule(*EXTREMES)
def extreme(node: Node) -> Tensor:
    values, layout = align(node, *range(node.count))
    if node.tensor(0).elem not in BYTES:
        values = [node.graph.real(value) for value in values]
    found, *rest = values
    for value in rest:
        found = node.apply(EXTREMES[node.kind], found, value)
    return layout.result(node, found, node.tensor(0).elem)


@rule("Where")
def where(node: Node) -> Tensor:
    """NNAPI's three inputs have one shape."""
    (condition, x, y), layout = align(node, 0, 1, 2)
    shape = _common((condition, x, y))
    if node.tensor(1).elem not in BYTES:
        x, y = node.graph.real(x), node.graph.real(y)
    if x.type.code == BOOL8:
        chosen = select(node, condition, node.graph.bytes(x), node.graph.bytes(y), shape)
        zero = node.graph.full(OperandType(QUANT8, (1,), 1.0, 0))
        return layout.result(node, node.apply(OperationCode.NOT_EQUAL, chosen, zero, type=OperandType(BOOL8)), BOOL)
    return layout.result(node, select(node, condition, x, y, shape), node.tensor(1).elem)


def _common(values: tuple[Value, ...]) -> Shape:
    return tuple(np.broadcast_shapes(*(value.shape for value in values)))


def select(node: Node, condition: Value, x: Value, y: Value, shape: Shape) -> Value:
    """x where the condition holds, else y, all stretched to one shape."""
    condition, x, y = (broadcast(node, value, shape) for value in (condition, x, y))
    return node.apply(OperationCode.SELECT, condition, x, y, type=x.type.with_dimensions(()))


@rule("IsNaN")
def is_nan(node: Node) -> Tensor:
    """Lower IsNaN: a value that does not equal itself."""
    x, layout = real_input(node)
    expressible(x.type.code in FLOATS, "only floats may be NaN")
    return layout.result(node, node.apply(OperationCode.NOT_EQUAL, x, x, type=OperandType(BOOL8)), BOOL)


@rule("IsInf")
def is_inf(node: Node) -> Tensor:
    x, layout = real_input(node)
    expressible(x.type.code in FLOATS, "only floats may be infinite")
    limit, found = LARGEST[OperandCode(x.type.code)], None
    for wanted, code, bound in (
        (node.attribute("detect_positive", 1), OperationCode.GREATER, limit),
        (node.attribute("detect_negative", 1), OperationCode.LESS, -limit),
    ):
        if wanted:
            side = node.apply(code, x, node.like(x, bound), type=OperandType(BOOL8))
            found = side if found is None else node.apply(OperationCode.LOGICAL_OR, found, side)
    if found is None:
        found = node.apply(OperationCode.LESS, x, x, type=OperandType(BOOL8))
    return layout.result(node, found, BOOL)
