"""Arithmetic for rules of every format, as operations of NNAPI."""

from collections.abc import Sequence

import numpy as np

from nnapi.codes import OperationCode
from nnapi.importers.graph import BOOL8, Value
from nnapi.importers.node import Node
from nnapi.importers.refusals import expressible
from nnapi.model.operand import OperandType, Shape
from nnapi.shapes.size import drop_ones, is_same


def add(node: Node, x: Value, y: Value) -> Value:
    return node.apply(OperationCode.ADD, x, y, node.i32(0))


def subtract(node: Node, x: Value, y: Value) -> Value:
    return node.apply(OperationCode.SUB, x, y, node.i32(0))


def multiply(node: Node, x: Value, y: Value) -> Value:
    return node.apply(OperationCode.MUL, x, y, node.i32(0))


def times(node: Node, x: Value, number: float) -> Value:
    return multiply(node, x, node.like(x, number))


def compare(node: Node, code: OperationCode, x: Value, y: Value) -> Value:
    return node.apply(code, x, y, type=OperandType(BOOL8))


def choose(node: Node, condition: Value, x: Value, y: Value) -> Value:
    """Select x where the condition is true, else y; all three have the same shape."""
    return node.apply(OperationCode.SELECT, condition, x, y, type=x.type)


def broadcast_shape(shapes: Sequence[Shape]) -> Shape:
    """Return the shape that all shapes broadcast to; 0 is a dynamic dimension."""
    rank = max(len(shape) for shape in shapes)
    found = []
    for sizes in zip(*((1,) * (rank - len(shape)) + tuple(shape) for shape in shapes), strict=True):
        wide = drop_ones(sizes)
        closed = [size for size in wide if size != 0]
        is_same = all(size == closed[0] for size in closed[1:])
        expressible(is_same, f"shapes {[list(shape) for shape in shapes]} do not stretch to each other")
        found.append(closed[0] if closed else 0 if wide else 1)
    return tuple(found)


def broadcast(node: Node, value: Value, shape: Shape) -> Value:
    if is_same(value.shape, shape):
        return value
    expressible(0 not in shape, f"{value.name or 'a constant'} is repeated along dynamic dimensions")
    own = (1,) * (len(shape) - value.rank) + node.static_shape_of(value)
    type = value.type.with_dimensions(shape)
    if value.array is not None and node.graph.allowance.grants(type.nbytes):
        return Value(type, value.name, np.broadcast_to(value.array.reshape(own), shape).copy())
    counts = [want // have for want, have in zip(shape, own, strict=True)]
    return node.apply(OperationCode.TILE, node.reshape(value, own), node.graph.ints(counts), shape=shape)
