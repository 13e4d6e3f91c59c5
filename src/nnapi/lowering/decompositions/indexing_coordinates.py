"""TAKE, GATHER_ELEMENTS, GATHER_ND, SCATTER_ELEMENTS, SCATTER_ND by GATHER of rows at flat indices.

A computed coordinate is multiplied by looking up its product, because GATHER checks indices and MUL does not. To
scatter, updates are concatenated behind the input, and each row of the result is gathered from both.
"""

import math
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from nnapi.codes import OperandCode
from nnapi.codes import OperationCode as Op
from nnapi.lowering.decomposition_builder import Decomposition, decomposition
from nnapi.lowering.decompositions.binary import as_numbers
from nnapi.lowering.decompositions.reduction import COMBINATIONS, fold_along
from nnapi.lowering.refusal import require
from nnapi.model.builder import Tensor
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.operation_codes import CompositeCode as Composite
from nnapi.ops.coordinates import Reduction
from nnapi.ops.shapes import axis_of

COMBINED = {
    Reduction.ADD: Op.REDUCE_SUM,
    Reduction.MUL: Op.REDUCE_PROD,
    Reduction.MIN: Op.REDUCE_MIN,
    Reduction.MAX: Op.REDUCE_MAX,
}
MOST_PASSES = 64
"""The largest number of elements that are combined at one constant index."""
MOST_COMPARED = 1 << 24
"""The maximum number of comparisons of a position with a computed index, times the width of a row if it is combined."""


@decomposition(Composite.TAKE)
def take(b: Decomposition, input: Tensor, axis: int, indices: Tensor) -> Tensor:
    axis = axis_of(axis, len(input.shape))
    return b.gather(input, axis, _count_from_start(b, indices, input.shape[axis : axis + 1], from_end=True))


@decomposition(Composite.GATHER_ELEMENTS)
def gather_elements(b: Decomposition, input: Tensor, axis: int, indices: Tensor, from_end: bool) -> Tensor:
    flat = _flatten_along(b, input.shape, axis_of(axis, len(input.shape)), indices, from_end)
    return b.reshape(_pick_rows(b, b.reshape(input, (math.prod(input.shape),)), flat), indices.shape)


@decomposition(Composite.GATHER_ND)
def gather_nd(b: Decomposition, input: Tensor, indices: Tensor, batch_dims: int, from_end: bool) -> Tensor:
    """Gather from rows of all batches; the number of the batch is the first coordinate."""
    own, (*outer, depth) = input.shape, indices.shape
    span, batches = own[batch_dims : batch_dims + depth], math.prod(own[:batch_dims])
    width, size = math.prod(own[batch_dims + depth :]), math.prod(span)
    flat = _flatten(b, b.reshape(indices, (math.prod(outer), depth)), span, from_end, is_gathered=batches == 1)
    if batches > 1:
        begins = np.repeat(np.arange(batches, dtype=np.int32) * size, math.prod(outer) // batches)
        known = b.value(flat)
        flat = flat + begins if known is None else b.constant(known + begins)
    return b.reshape(_pick_rows(b, b.reshape(input, (batches * size, width)), flat), b.call.results[0].dimensions)


@decomposition(Composite.SCATTER_ELEMENTS)
def scatter_elements(
    b: Decomposition, input: Tensor, axis: int, indices: Tensor, updates: Tensor, reduction: int, from_end: bool
) -> Tensor:
    """Compare indices only with the positions of their line, if they are computed and cover all lines."""
    own, rank = input.shape, len(input.shape)
    axis = axis_of(axis, rank)
    covers = all(indices.shape[i] == own[i] for i in range(rank) if i != axis)
    if b.value(indices) is not None or not covers:
        flat = _flatten_along(b, own, axis, indices, from_end)
        return _scatter(
            b, input, b.reshape(flat, (1, math.prod(indices.shape))), updates, (1, math.prod(own), 1), reduction
        )
    order = [*(i for i in range(rank) if i != axis), axis]
    lines, count = math.prod(own) // own[axis], indices.shape[axis]
    at = _count_from_start(b, b.transpose(indices, order), own[axis : axis + 1], from_end)
    at = _scale(b, b.reshape(at, (lines * count,)), own[axis], 1)
    moved, moved_updates = b.transpose(input, order), b.transpose(updates, order)
    made = _scatter(b, moved, b.reshape(at, (lines, count)), moved_updates, (lines, own[axis], 1), reduction)
    return b.transpose(made, np.argsort(order).tolist())


@decomposition(Composite.SCATTER_ND)
def scatter_nd(
    b: Decomposition, input: Tensor, indices: Tensor, updates: Tensor, reduction: int, from_end: bool
) -> Tensor:
    own, (*outer, depth) = input.shape, indices.shape
    count, span = math.prod(outer), own[:depth]
    flat = b.reshape(_flatten(b, b.reshape(indices, (count, depth)), span, from_end), (1, count))
    return _scatter(b, input, flat, updates, (1, math.prod(span), math.prod(own[depth:])), reduction)


# Flat indices


def _flatten_along(b: Decomposition, own: Shape, axis: int, indices: Tensor, from_end: bool) -> Tensor:
    """Return flat indices of elements; along the axis, the index replaces the coordinate."""
    count, stride = math.prod(indices.shape), math.prod(own[axis + 1 :])
    grid = np.indices(indices.shape, np.int32)
    base = sum(grid[k] * math.prod(own[k + 1 :]) for k in range(len(own)) if k != axis)
    column = b.reshape(_count_from_start(b, indices, own[axis : axis + 1], from_end), (count,))
    if own[axis] == math.prod(own):
        return column
    along, added = _scale(b, column, own[axis], stride), np.broadcast_to(base, indices.shape)
    known = b.value(along)
    if known is not None:
        return b.constant(known + added.reshape(count))
    return along + np.ascontiguousarray(added.reshape(count)) if added.any() else along


def _flatten(b: Decomposition, rows: Tensor, span: Shape, from_end: bool, *, is_gathered: bool = False) -> Tensor:
    """Return flat indices into ``span`` for rows of coordinates. A GATHER by the result checks a single coordinate."""
    count, depth = rows.shape
    counted = _count_from_start(b, rows, span, from_end)
    known = b.value(counted)
    if known is not None:
        return b.constant(np.ravel_multi_index(tuple(known.T), span).astype(np.int32))
    if depth == 1 and is_gathered:
        return b.reshape(counted, (count,))
    terms = [
        _scale(b, b.reshape(b.block(counted, 1, k, 1), (count,)), span[k], math.prod(span[k + 1 :]))
        for k in range(depth)
    ]
    return reduce(add, terms)


def _count_from_start(b: Decomposition, rows: Tensor, span: Shape, from_end: bool) -> Tensor:
    """Return coordinates; those that count from the end become positive. The last axis has the columns of ``span``, or
    ``span`` has one size. Refuse constants out of range."""
    sizes, known = np.array(span, np.int32), b.value(rows)
    if known is not None:
        counted = known + (known < 0) * sizes if from_end else known
        is_inside = bool(((counted >= 0) & (counted < sizes)).all())
        require(is_inside, f"indices holds {known.min()}..{known.max()}, out of range for {list(span)}")
        return b.constant(counted.astype(np.int32))
    if not from_end:
        return rows
    return b.select(rows < 0, rows + sizes, rows)


def _scale(b: Decomposition, column: Tensor, size: int, stride: int) -> Tensor:
    """Multiply indices by ``stride``; the run fails if one is outside ``0..size - 1``."""
    known, products = b.value(column), np.arange(size, dtype=np.int32) * stride
    return b.constant(products[known]) if known is not None else b.gather(b.constant(products), 0, column)


def _pick_rows(b: Decomposition, rows: Tensor, indices: Tensor) -> Tensor:
    known = b.value(indices)
    return b.gather(rows, 0, indices) if known is None else b.pick(rows, 0, known.tolist())


# Scatter


def _scatter(
    b: Decomposition, input: Tensor, at: Tensor, updates: Tensor, shape: tuple[int, int, int], reduction: int
) -> Tensor:
    """Return an input of ``shape``, [lines, size, width], with updates at the indices ``at``, [lines, count]."""
    lines, size, width = shape
    known, count = b.value(at), at.shape[1]
    rows, given = b.reshape(input, (lines * size, width)), b.reshape(updates, (lines * count, width))
    if known is not None:
        made = _write_rows(b, rows, given, known.reshape(-1), reduction)
    elif reduction == Reduction.NONE:
        made = _pick_last(b, at, rows, given, shape)
    else:
        made = _combine_all(b, at, rows, given, shape, Reduction(reduction))
    return b.reshape(made, input.shape)


def _find_hits(b: Decomposition, at: Tensor, size: int) -> Tensor:
    """Return whether each index, [lines, 1, count], is each position, [1, size, 1]."""
    lines, count = at.shape
    positions = b.constant(np.arange(size, dtype=np.int32).reshape(1, size, 1))
    return b.equal(b.reshape(at, (lines, 1, count)), positions)


def _pick_last(b: Decomposition, at: Tensor, rows: Tensor, updates: Tensor, shape: tuple[int, int, int]) -> Tensor:
    """Gather each row of the result from the input or from the last update of its position."""
    (lines, size, _), count = shape, at.shape[1]
    require(lines * size * count <= MOST_COMPARED, f"its decomposition compares {size} positions with {count} indices")
    number = np.arange(1, count + 1, dtype=np.float32).reshape(1, 1, count)
    numbers = as_numbers(b, _find_hits(b, at, size)) * number
    last = b.cast(b.reduce_max(numbers, np.array([2], np.int32), False), out=OperandType(OperandCode.TENSOR_INT32))
    kept = b.constant(np.arange(lines * size, dtype=np.int32).reshape(lines, size))
    before = lines * size + count * np.arange(lines, dtype=np.int32) - 1
    written = last + np.repeat(before.reshape(lines, 1), size, 1)
    picked = b.select(last > 0, written, kept)
    return b.gather(b.concatenate([rows, updates], 0), 0, b.reshape(picked, (lines * size,)))


def _combine_all(
    b: Decomposition, at: Tensor, rows: Tensor, updates: Tensor, shape: tuple[int, int, int], reduction: Reduction
) -> Tensor:
    """Combine each row with all updates, of which those for other positions become a neutral value."""
    (lines, size, width), count = shape, at.shape[1]
    whole = (lines, size, count, width)
    require(math.prod(whole) <= MOST_COMPARED, f"its decomposition combines {math.prod(whole)} elements")
    wide = b.tile(b.reshape(at, (lines, 1, count, 1)), np.array([1, 1, 1, width], np.int32))
    hits = b.equal(wide, b.constant(np.arange(size, dtype=np.int32).reshape(1, size, 1, 1)))
    given = b.tile(b.reshape(updates, (lines, 1, count, width)), np.array([1, size, 1, 1], np.int32))
    neutral = b.constant(np.full(whole, _find_neutral(reduction, updates.type.dtype)))
    combine = COMBINATIONS[COMBINED[reduction]]
    folded = fold_along(b, b.select(hits, given, neutral), 2, combine)
    return combine(b, rows, b.reshape(folded, rows.shape))


def _find_neutral(reduction: Reduction, dtype: np.dtype[Any]) -> Any:
    limits: Any = np.iinfo(dtype) if dtype.kind == "i" else None
    lowest, highest = (limits.min, limits.max) if limits else (-np.inf, np.inf)
    number = {Reduction.ADD: 0, Reduction.MUL: 1, Reduction.MIN: highest, Reduction.MAX: lowest}[reduction]
    return dtype.type(number)


def _write_rows(b: Decomposition, rows: Tensor, updates: Tensor, positions: Array, reduction: int) -> Tensor:
    """Write or combine rows at constant positions; rows of the same position one after another."""
    earlier = _count_earlier(positions) if reduction else np.zeros(positions.size, np.int64)
    passes = int(earlier.max(initial=-1)) + 1
    require(passes <= MOST_PASSES, f"its decomposition combines {passes} elements at one index")
    count = rows.shape[0]
    for number in range(passes):
        mine = np.flatnonzero(earlier == number)
        picked = np.arange(count)
        picked[positions[mine]] = count + mine
        written = b.pick(b.concatenate([rows, updates], 0), 0, picked.tolist())
        rows = _combine(b, rows, written, picked >= count, Reduction(reduction)) if reduction else written
    return rows


def _count_earlier(positions: Array) -> Array:
    """Return how often each position occurs before."""
    order = np.argsort(positions, kind="stable")
    first = np.searchsorted(positions[order], positions)
    rank = np.empty(positions.size, np.int64)
    rank[order] = np.arange(positions.size)
    earlier: Array = rank - first
    return earlier


def _combine(b: Decomposition, rows: Tensor, written: Tensor, is_written: Array, reduction: Reduction) -> Tensor:
    combined = COMBINATIONS[COMBINED[reduction]](b, rows, written)
    if is_written.all():
        return combined
    count = len(is_written)
    return b.pick(b.concatenate([rows, combined], 0), 0, (np.arange(count) + is_written * count).tolist())
