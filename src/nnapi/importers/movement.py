"""Axes and indices of operations that move elements."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi.importers.graph import Value
from nnapi.importers.graph_emitter import GraphEmitter
from nnapi.importers.refusals import expressible
from nnapi.model.operand import Array, Shape
from nnapi.shapes.array import is_symbolic


def need_inside(indices: Array, sizes: int | Array) -> None:
    """Raise Refused unless constant indices are at least 0 and below ``sizes``, one for all or for each column."""
    if is_symbolic(indices):
        outside: Any = (indices < 0) | (indices >= sizes)
        expressible(not outside.any(), "an index is outside its axis")
        return
    sizes = np.broadcast_to(sizes, indices.shape)
    missed = sizes[(indices < 0) | (indices >= sizes)]
    expressible(not missed.size, f"an index is outside {missed[:1].sum()}")


def check_indices(emitter: GraphEmitter, indices: Value, size: int) -> Value:
    """Return indices; the run fails if one is outside ``0..size - 1``, because a GATHER looks them up."""
    if indices.array is not None:
        need_inside(indices.array, size)
        return indices
    emitter.graph.reserve(4 * size)
    return emitter.pick_rows(emitter.graph.ints(np.arange(size)), indices)


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
