"""Scatter operators: updates are concatenated behind the data, and each row of the result is gathered from both."""

import math

import numpy as np

from nnapi.codes import OperationCode
from nnapi.importers.formulas import Term, choose
from nnapi.importers.graph import INT32, Value
from nnapi.importers.movement import pick_rows, scale_indices
from nnapi.importers.onnx.node import HIGHEST_RANK, Node
from nnapi.importers.onnx.operators import rule
from nnapi.importers.onnx.rules.indexing import flatten_computed, flatten_constants, normalize_indices
from nnapi.importers.onnx.rules.movement import concatenate_values, permute_any_rank
from nnapi.importers.onnx.tensors import Tensor
from nnapi.importers.refusals import expressible
from nnapi.model.operand import Array, Shape

COMBINED = {
    "add": OperationCode.ADD,
    "mul": OperationCode.MUL,
    "max": OperationCode.MAXIMUM,
    "min": OperationCode.MINIMUM,
}
MOST_PASSES = 64
"""The largest number of elements that are combined at one index."""
MOST_COMPARED = 1 << 24
"""The maximum number of comparisons of a position with a computed index."""


@rule("ScatterElements", "Scatter")
def scatter_elements(node: Node) -> Tensor:
    own = node.static_shape(0)
    axis = node.axis(int(node.attribute("axis", 0)), len(own))
    if node.tensor(1).array is None:
        return _scatter_along(node, own, axis)
    indices = node.array(1)
    fits = indices.ndim == len(own) and all(
        here <= there for i, (here, there) in enumerate(zip(indices.shape, own, strict=True)) if i != axis
    )
    expressible(fits, f"indices of {list(indices.shape)} for {list(own)}")
    node.graph.reserve(8 * (indices.ndim + 1) * indices.size)
    grid = np.indices(indices.shape)
    grid[axis] = indices
    return _write_rows(node, flatten_constants(np.moveaxis(grid, 0, -1), own).reshape(-1), (math.prod(own), 1))


@rule("ScatterND")
def scatter_nd(node: Node) -> Tensor:
    own = node.static_shape(0)
    depth = node.static_shape(1)[-1]
    expressible(0 < depth <= len(own), f"it has {depth} indices for rank {len(own)}")
    rows, width = math.prod(own[:depth]), math.prod(own[depth:])
    if node.tensor(1).array is not None:
        return _write_rows(node, flatten_constants(node.array(1), own[:depth]).reshape(-1), (rows, width))
    at = node.view(flatten_computed(node, 1, own[:depth]), (1, math.prod(node.static_shape(1)[:-1])))
    found = _pick_last(node, at, (node.stored(0), node.stored(2)), (1, rows, width))
    return node.result(found, own, elem=node.tensor(0).elem)


def _scatter_along(node: Node, own: Shape, axis: int) -> Tensor:
    """Lower ScatterElements with computed indices, which must cover all other axes completely."""
    shape = node.static_shape(1)
    others = [k for k in range(len(own)) if k != axis]
    covers = len(shape) == len(own) and all(shape[k] == own[k] for k in others)
    expressible(covers, f"its computed indices {list(shape)} do not cover {list(own)}")
    order = [*others, axis]
    rows, size, count = math.prod(own) // own[axis], own[axis], shape[axis]
    at = permute_any_rank(node, scale_indices(node, normalize_indices(node, 1, size), size), shape, order)
    data, updates = (permute_any_rank(node, node.stored(i), each, order) for i, each in ((0, own), (2, shape)))
    written = _pick_last(node, node.view(at, (rows, count)), (data, updates), (rows, size, 1))
    transposed = tuple(own[k] for k in order)
    written = node.view(written, transposed) if len(own) <= HIGHEST_RANK else written
    back = [order.index(k) for k in range(len(own))]
    return node.result(permute_any_rank(node, written, transposed, back), own, elem=node.tensor(0).elem)


def _pick_last(node: Node, at: Value, sources: tuple[Value, Value], shape: tuple[int, int, int]) -> Value:
    """Return data, rows of [rows, size, width], with updates at the indices ``at``, [rows, count]; the last update of
    an index wins."""
    way = node.attribute("reduction", "none")
    expressible(way == "none", f"its reduction is {way}, with computed indices")
    (rows, size, width), count = shape, at.shape[1]
    expressible(rows * size * count <= MOST_COMPARED, f"it compares {size} positions with {count} indices")
    positions = Term(node, node.graph.constant(np.arange(size, dtype=np.int32).reshape(1, size, 1)))
    hits = Term(node, node.view(at, (rows, 1, count))).compare(OperationCode.EQUAL, positions)
    numbers = Term(node, node.graph.constant(np.arange(1, count + 1, dtype=np.float32).reshape(1, 1, count)))
    numbered = choose(hits, numbers, numbers.beside(0)).value
    last = node.apply(OperationCode.REDUCE_MAX, numbered, node.graph.ints([2]), node.flag(False))
    found = Term(node, node.cast(last, INT32))
    kept = np.arange(rows * size, dtype=np.int32).reshape(rows, size)
    before = (rows * size + count * np.arange(rows, dtype=np.int32) - 1).reshape(rows, 1).repeat(size, 1)
    written, unwritten = found + Term(node, node.graph.constant(before)), Term(node, node.graph.constant(kept))
    picked = choose(found > 0, written, unwritten).value
    data, updates = (node.view(each, (n, width)) for each, n in zip(sources, (rows * size, rows * count), strict=True))
    return pick_rows(node, concatenate_values(node, [data, updates], 0), node.view(picked, (rows * size,)))


def _write_rows(node: Node, positions: Array, shape: Shape) -> Tensor:
    """Write or combine rows of input 2 into input 0 at ``positions``; rows of the same position one after another."""
    count, width = shape
    way = node.attribute("reduction", "none")
    expressible(way == "none" or way in COMBINED, f"its reduction is {way}, must be none, {' or '.join(COMBINED)}")
    data = node.view(node.stored(0), shape)
    updates = node.view(node.stored(2), (positions.size, width)) if positions.size else data
    earlier = np.zeros(positions.size, np.int64) if way == "none" else _count_earlier(positions)
    passes = int(earlier.max(initial=-1)) + 1
    expressible(passes <= MOST_PASSES, f"it combines {passes} elements at one index")
    node.graph.reserve(12 * count * passes)
    for number in range(passes):
        mine = np.flatnonzero(earlier == number)
        picked = np.arange(count)
        picked[positions[mine]] = count + mine
        written = pick_rows(node, concatenate_values(node, [data, updates], 0), picked)
        data = written if way == "none" else _combine(node, COMBINED[way], data, written, picked >= count)
    return node.result(data, node.shape(0), elem=node.tensor(0).elem)


def _count_earlier(positions: Array) -> Array:
    order = np.argsort(positions, kind="stable")
    first = np.searchsorted(positions[order], positions)
    rank = np.empty(positions.size, np.int64)
    rank[order] = np.arange(positions.size)
    earlier: Array = rank - first
    return earlier


def _combine(node: Node, code: OperationCode, data: Value, written: Value, is_written: Array) -> Value:
    combined = Term(node, data).apply(code, Term(node, written)).value
    if is_written.all():
        return combined
    count = len(is_written)
    return pick_rows(node, concatenate_values(node, [data, combined], 0), np.arange(count) + is_written * count)
