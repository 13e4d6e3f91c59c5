"""Compress, NonZero and Unique: results whose size depends on the data."""

from math import prod

from nnapi.importers.graph import INT32, Value
from nnapi.importers.onnx.node import OnnxNode
from nnapi.importers.onnx.operators import rule
from nnapi.importers.onnx.tensors import DYNAMIC, INT64, OnnxTensor
from nnapi.model.operand import OperandType, Shape
from nnapi.operation_codes import CompositeCode


@rule("NonZero")
def nonzero(node: OnnxNode) -> OnnxTensor:
    rank = max(node.tensor(0).rank, 1)
    return node.result(_find_positions(node, node.input(0)), (rank, DYNAMIC), elem=INT64)


@rule("Compress")
def compress(node: OnnxNode) -> OnnxTensor:
    """Take the slices at the positions where the condition is true; without an axis, of the flattened tensor."""
    value, axis, shape = _read_along_axis(node)
    positions = node.view(_find_positions(node, node.input(1)), (DYNAMIC,))
    taken = node.apply(CompositeCode.TAKE, value, node.i32(axis), positions, shape=shape)
    return node.result(taken, shape, elem=node.tensor(0).elem)


@rule("Unique")
def unique(node: OnnxNode) -> list[OnnxTensor | None]:
    value, axis, shape = _read_along_axis(node)
    lists = [OperandType(INT32, (size,)) for size in (DYNAMIC, value.shape[axis], DYNAMIC)]
    flags = node.i32(axis), node.flag(node.attribute("sorted", 1))
    types = [value.type.with_dimensions(shape), *lists]
    found = node.append(CompositeCode.UNIQUE, [value, *flags], types)
    slices = node.result(found[0], shape, elem=node.tensor(0).elem)
    return [slices, *(node.result(each, each.shape, elem=INT64) for each in found[1:])]


def _read_along_axis(node: OnnxNode) -> tuple[Value, int, Shape]:
    """Return input 0, flattened without an axis, the axis, and the shape of the slices that are chosen along it."""
    shape, axis = node.shape(0), node.attribute("axis")
    if axis is None:
        return node.view(node.stored(0), (prod(shape),)), 0, (DYNAMIC,)
    axis = node.axis(axis, len(shape))
    return node.stored(0), axis, (*shape[:axis], DYNAMIC, *shape[axis + 1 :])


def _find_positions(node: OnnxNode, value: Value) -> Value:
    type = OperandType(INT32, (value.rank, DYNAMIC))
    return node.apply(CompositeCode.NONZERO, value, type=type, shape=type.dimensions)
