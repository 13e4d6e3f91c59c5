"""Move elements of any type: NNAPI's TRANSPOSE and CONCATENATION do not take int32."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi.codes import OperationCode
from nnapi.importers.emitter import Emitter
from nnapi.importers.graph import INT32, Value
from nnapi.importers.refusals import expressible
from nnapi.model.operand import Array, Shape
from nnapi.operation_codes import CompositeCode
from nnapi.shapes.array import is_symbolic, number_elements


def transpose(emitter: Emitter, value: Value, order: Sequence[int], to: Value | None = None) -> Value:
    shape = tuple(value.shape[i] for i in order)
    to = to or emitter.temporary(value.type.with_dimensions(shape), "transposed")
    if value.type.code != INT32:
        return emitter.emit(OperationCode.TRANSPOSE, value, emitter.graph.ints(list(order)), to=to)
    if list(order) == [1, 0] and any(value.shape) and not all(value.shape):
        axis = 0 if value.shape[0] else 1
        parts = [emitter.reshape(part, (0,)) for part in split(emitter, value, axis, value.shape[axis])]
        return emitter.emit(OperationCode.PACK, emitter.i32(1 - axis), *parts, to=to)
    count = math.prod(emitter.static_shape_of(value))
    emitter.graph.reserve(4 * count)  # NNAPI does not transpose int32: gather by the index of each element
    indices = number_elements(value.shape).transpose(order).reshape(-1)
    flat = emitter.reshape(value, (count,))
    moved = emitter.apply(OperationCode.GATHER, flat, emitter.i32(0), emitter.graph.ints(indices), shape=(count,))
    return emitter.reshape(moved, shape, to=to)


def concatenate(emitter: Emitter, values: Sequence[Value], axis: int, to: Value | None = None) -> Value:
    if to is None:
        shape = list(values[0].shape)
        sizes = [value.shape[axis] for value in values]
        shape[axis] = sum(sizes) if all(sizes) else 0
        to = emitter.temporary(values[0].type.with_dimensions(shape), "joined")
    code = CompositeCode.CONCATENATION_V2 if values[0].type.code == INT32 else OperationCode.CONCATENATION
    return emitter.emit(code, *values, emitter.i32(axis), to=to)


def split(emitter: Emitter, value: Value, axis: int, count: int) -> list[Value]:
    """Split a value along an axis into equal pieces."""
    if count == 1:
        return [value]
    expressible(count > 0, f"a cut into {count} pieces")
    shape = list(value.shape)
    shape[axis] //= count
    pieces = [emitter.temporary(value.type.with_dimensions(shape), f"piece {i}") for i in range(count)]
    emitter.emit(OperationCode.SPLIT, value, emitter.i32(axis), emitter.i32(count), to=pieces)
    return pieces


def take(emitter: Emitter, value: Value, begin: Sequence[int], size: Sequence[int], to: Value | None = None) -> Value:
    """Slice a value; a size of -1 reaches to the end."""
    bounds = (emitter.graph.ints(list(begin)), emitter.graph.ints(list(size)))
    if to is not None:
        return emitter.emit(OperationCode.SLICE, value, *bounds, to=to)
    return emitter.apply(OperationCode.SLICE, value, *bounds, shape=tuple(max(dimension, 0) for dimension in size))


def pick_rows(emitter: Emitter, value: Value, indices: Value | Array) -> Value:
    """Gather along the first axis; constant ``indices`` are flattened first."""
    if not isinstance(indices, Value):
        indices = emitter.graph.ints(indices.reshape(-1))
    shape = (*indices.shape, *value.shape[1:])
    return emitter.apply(OperationCode.GATHER, value, emitter.i32(0), indices, shape=shape)


def need_inside(indices: Array, sizes: int | Array) -> None:
    """Raise Refused unless constant indices are at least 0 and below ``sizes``, one for all or for each column."""
    if is_symbolic(indices):
        outside: Any = (indices < 0) | (indices >= sizes)
        expressible(not outside.any(), "an index is outside its axis")
        return
    sizes = np.broadcast_to(sizes, indices.shape)
    missed = sizes[(indices < 0) | (indices >= sizes)]
    expressible(not missed.size, f"an index is outside {missed[:1].sum()}")


def check_indices(emitter: Emitter, indices: Value, size: int) -> Value:
    """Return indices; the run fails if one is outside ``0..size - 1``, because a GATHER looks them up."""
    if indices.array is not None:
        need_inside(indices.array, size)
        return indices
    emitter.graph.reserve(4 * size)
    return pick_rows(emitter, emitter.graph.ints(np.arange(size)), indices)


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


def pad_by_concatenation(emitter: Emitter, value: Value, pads: Sequence[Sequence[int]], number: int) -> Value:
    """Pad by concatenating constants of one stored value, for types that NNAPI's PAD does not take."""
    for axis, widths in enumerate(pads):
        shape = emitter.static_shape_of(value)
        types = (value.type.with_dimensions((*shape[:axis], width, *shape[axis + 1 :])) for width in widths)
        low, high = ([emitter.graph.full(type, number)] if type.dimensions[axis] else [] for type in types)
        if low or high:
            value = concatenate(emitter, [*low, value, *high], axis)
    return value
