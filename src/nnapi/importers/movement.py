"""Move elements of any type: NNAPI's TRANSPOSE and CONCATENATION do not take int32."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi.codes import OperationCode
from nnapi.importers.graph import FLOAT32, INT32, Value
from nnapi.importers.node import Node
from nnapi.importers.refusals import expressible
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.shapes.array import is_symbolic

MOST_PIECES = 1024
"""The largest number of pieces into which an int32 tensor is split."""


def transpose(node: Node, value: Value, order: Sequence[int], to: Value | None = None) -> Value:
    shape = tuple(value.shape[i] for i in order)
    to = to or node.temporary(value.type.with_dimensions(shape), "transposed")
    if value.type.code != INT32:
        return node.emit(OperationCode.TRANSPOSE, value, node.graph.ints(list(order)), to=to)
    if list(order) == [1, 0] and value.shape[0] and not value.shape[1]:
        rows = [node.reshape(row, (0,)) for row in split(node, value, 0, value.shape[0])]
        return node.emit(OperationCode.PACK, node.i32(1), *rows, to=to)
    count = math.prod(node.static_shape_of(value))
    node.graph.reserve(4 * count)  # NNAPI does not transpose int32: gather by the index of each element
    indices = np.arange(count, dtype=np.int32).reshape(value.shape).transpose(order).reshape(-1)
    flat = node.reshape(value, (count,))
    moved = node.apply(OperationCode.GATHER, flat, node.i32(0), node.graph.ints(indices), shape=(count,))
    return node.reshape(moved, shape, to=to)


def concatenate(node: Node, values: Sequence[Value], axis: int, to: Value | None = None) -> Value:
    if to is None:
        shape = list(values[0].shape)
        sizes = [value.shape[axis] for value in values]
        shape[axis] = sum(sizes) if all(sizes) else 0
        to = node.temporary(values[0].type.with_dimensions(shape), "joined")
    if values[0].type.code != INT32:
        return node.emit(OperationCode.CONCATENATION, *values, node.i32(axis), to=to)
    if not all(value.type.is_known for value in values):
        return _concatenate_halves(node, values, axis, to)
    widths = [value.shape[axis] for value in values]
    shape = list(values[0].shape)
    outer, inner = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
    shape[axis] = sum(widths)
    width = math.gcd(*widths)
    expressible(sum(widths) // width <= MOST_PIECES, "NNAPI joins no int32, and the pieces are too many")
    values = [node.reshape(value, (outer, size, inner)) for value, size in zip(values, widths, strict=True)]
    pieces = [piece for value in values for piece in split(node, value, 1, value.shape[1] // width)]
    stacked = (outer, len(pieces), width, inner)
    whole = node.apply(OperationCode.PACK, node.i32(1), *pieces, shape=stacked, type=values[0].type)
    return node.reshape(whole, shape, to=to)


def _concatenate_halves(node: Node, values: Sequence[Value], axis: int, to: Value) -> Value:
    """Concatenate int32 of dynamic dimensions: as the upper and the lower 16 bits, which float32 holds exactly."""
    halves: list[Value] = []
    base, floats = node.graph.ints([1 << 16]), OperandType(FLOAT32, ())
    for is_upper in (True, False):
        parts = []
        for value in values:
            upper = node.apply(OperationCode.DIV, value, base, node.i32(0), shape=value.shape)
            if not is_upper:
                whole = node.apply(OperationCode.MUL, upper, base, node.i32(0), shape=value.shape)
                upper = node.apply(OperationCode.SUB, value, whole, node.i32(0), shape=value.shape)
            parts.append(node.apply(OperationCode.CAST, upper, shape=value.shape, type=floats))
        whole = node.apply(OperationCode.CONCATENATION, *parts, node.i32(axis), shape=to.shape)
        halves.append(node.apply(OperationCode.CAST, whole, shape=to.shape, type=OperandType(INT32)))
    upper = node.apply(OperationCode.MUL, halves[0], base, node.i32(0), shape=to.shape)
    return node.emit(OperationCode.ADD, upper, halves[1], node.i32(0), to=to)


def split(node: Node, value: Value, axis: int, count: int) -> list[Value]:
    """Split a value along an axis into equal pieces."""
    if count == 1:
        return [value]
    expressible(count > 0, f"a cut into {count} pieces")
    shape = list(value.shape)
    shape[axis] //= count
    pieces = [node.temporary(value.type.with_dimensions(shape), f"piece {i}") for i in range(count)]
    node.emit(OperationCode.SPLIT, value, node.i32(axis), node.i32(count), to=pieces)
    return pieces


def take(node: Node, value: Value, begin: Sequence[int], size: Sequence[int], to: Value | None = None) -> Value:
    """Slice a value; a size of -1 reaches to the end."""
    bounds = (node.graph.ints(list(begin)), node.graph.ints(list(size)))
    if to is not None:
        return node.emit(OperationCode.SLICE, value, *bounds, to=to)
    return node.apply(OperationCode.SLICE, value, *bounds, shape=tuple(max(dimension, 0) for dimension in size))


def pick_rows(node: Node, value: Value, indices: Value | Array) -> Value:
    """Gather along the first axis; constant ``indices`` are flattened first."""
    if not isinstance(indices, Value):
        indices = node.graph.ints(indices.reshape(-1))
    shape = (*indices.shape, *value.shape[1:])
    return node.apply(OperationCode.GATHER, value, node.i32(0), indices, shape=shape)


def need_inside(indices: Array, sizes: int | Array) -> None:
    """Raise Refused unless constant indices are at least 0 and below ``sizes``, one for all or for each column."""
    if is_symbolic(indices):
        outside: Any = (indices < 0) | (indices >= sizes)
        expressible(not outside.any(), "an index is outside its axis")
        return
    sizes = np.broadcast_to(sizes, indices.shape)
    missed = sizes[(indices < 0) | (indices >= sizes)]
    expressible(not missed.size, f"an index is outside {missed[:1].sum()}")


def check_indices(node: Node, indices: Value, size: int) -> Value:
    """Return indices; the run fails if one is outside ``0..size - 1``, because a GATHER looks them up."""
    if indices.array is not None:
        need_inside(indices.array, size)
        return indices
    node.graph.reserve(4 * size)
    return pick_rows(node, node.graph.ints(np.arange(size)), indices)


def without_axis(shape: Shape, axis: int) -> Shape:
    return shape[:axis] + shape[axis + 1 :] or (1,)


def merge_axes(shape: Shape, order: Sequence[int]) -> tuple[list[int], list[int]]:
    """Merge axes that a transpose by ``order`` keeps adjacent; return the merged shape and the order of its axes."""
    runs: list[list[int]] = []
    for axis in (axis for axis in order if shape[axis] != 1):
        last = runs[-1][-1] if runs else axis
        follows = axis > last and all(shape[each] == 1 for each in range(last + 1, axis))
        if runs and follows:
            runs[-1].append(axis)
        else:
            runs.append([axis])
    starts = sorted(run[0] for run in runs)
    sizes = {run[0]: math.prod(shape[axis] for axis in run) for run in runs}
    return [sizes[start] for start in starts], [starts.index(run[0]) for run in runs]


def collapse(shape: Shape, kinds: Sequence[object]) -> tuple[Shape, list[int]]:
    """Merge adjacent dimensions of the same kind; return the new shape and, for each old axis, its new axis."""
    sizes: list[int] = []
    positions: list[int] = []
    last: object = object()
    for size, kind in zip(shape, kinds, strict=True):
        if sizes and kind == last:
            sizes[-1] *= size
        else:
            sizes.append(size)
            last = kind
        positions.append(len(sizes) - 1)
    return tuple(sizes), positions


def pad_by_concatenation(node: Node, value: Value, pads: Sequence[Sequence[int]], number: int) -> Value:
    """Pad by concatenating constants of one stored value, for types that NNAPI's PAD does not take."""
    for axis, widths in enumerate(pads):
        shape = node.static_shape_of(value)
        types = (value.type.with_dimensions((*shape[:axis], width, *shape[axis + 1 :])) for width in widths)
        low, high = ([node.graph.full(type, number)] if type.dimensions[axis] else [] for type in types)
        if low or high:
            value = concatenate(node, [*low, value, *high], axis)
    return value
