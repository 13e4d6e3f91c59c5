"""Writing elements to places that are known: what is written lies behind what it is written to, and each place of the
result picks from both."""

from __future__ import annotations

import math

import numpy as np

from nnapi.codes import OperationCode
from nnapi.errors import BadDataError, need
from nnapi.importers.graph import Value
from nnapi.importers.onnx.node import Node
from nnapi.importers.onnx.rules import rule
from nnapi.importers.onnx.rules.shape import join
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
"""Elements that are combined at one place at most."""
FUSING = (OperationCode.ADD, OperationCode.MUL)


@rule("ScatterElements", "Scatter")
def scatter_elements(node: Node) -> Tensor:
    """Single elements, whose place along an axis is said."""
    own, indices = node.static_shape(0), node.array(1)
    axis = node.axis(int(node.attribute("axis", 0)), len(own))
    fits = indices.ndim == len(own) and all(
        here <= there for i, (here, there) in enumerate(zip(indices.shape, own, strict=True)) if i != axis
    )
    need(fits, f"indices of {list(indices.shape)} for {list(own)}", BadDataError)
    node.graph.reserve(8 * (indices.ndim + 1) * indices.size)
    grid: list[Array] = list(np.indices(indices.shape))
    grid[axis] = _count_from_start(indices, own[axis])
    flat = np.ravel_multi_index(grid, own).reshape(-1) if indices.size else np.zeros(0, np.int64)
    return _write_rows(node, flat, (math.prod(own), 1))


@rule("ScatterND")
def scatter_nd(node: Node) -> Tensor:
    """Parts of the input, each of which begins at coordinates of its first axes."""
    own, indices = node.static_shape(0), node.array(1)
    depth = indices.shape[-1]
    need(0 < depth <= len(own), f"it has {depth} indices for rank {len(own)}", BadDataError)
    flat = np.zeros(indices.shape[:-1], np.int64)
    for k in range(depth):
        flat = flat * own[k] + _count_from_start(indices[..., k], own[k])
    return _write_rows(node, flat.reshape(-1), (math.prod(own[:depth]), math.prod(own[depth:])))


def _count_from_start(indices: Array, size: int) -> Array:
    found: Array = indices + (indices < 0) * size
    need(bool(((found >= 0) & (found < size)).all()), f"an index is outside {size}", BadDataError)
    return found


def _write_rows(node: Node, places: Array, shape: Shape) -> Tensor:
    """Input 0 as rows, some of them those of input 2, or combined with these: at each place one after another."""
    count, width = shape
    way = node.attribute("reduction", "none")
    expressible(way == "none" or way in COMBINED, f"its reduction is {way}")
    data = node.view(node.codes(0), shape)
    updates = node.view(node.codes(2), (places.size, width)) if places.size else data
    earlier = np.zeros(places.size, np.int64) if way == "none" else _count_earlier(places)
    passes = int(earlier.max(initial=-1)) + 1
    expressible(passes <= MOST_PASSES, f"it combines {passes} elements at one place")
    node.graph.reserve(12 * count * passes)
    for number in range(passes):
        mine = np.flatnonzero(earlier == number)
        picked = np.arange(count)
        picked[places[mine]] = count + mine
        written = _pick(node, data, updates, picked)
        data = written if way == "none" else _combine(node, COMBINED[way], data, written, picked >= count)
    return node.result(data, node.shape(0), elem=node.tensor(0).elem)


def _count_earlier(places: Array) -> Array:
    """How often each place was named before."""
    order = np.argsort(places, kind="stable")
    first = np.searchsorted(places[order], places)
    rank = np.empty(places.size, np.int64)
    rank[order] = np.arange(places.size)
    earlier: Array = rank - first
    return earlier


def _pick(node: Node, x: Value, y: Value, picked: Array) -> Value:
    """Rows of one value and, behind them, another."""
    return node.apply(OperationCode.GATHER, join(node, [x, y], 0), node.i32(0), node.graph.ints(picked))


def _combine(node: Node, code: OperationCode, data: Value, written: Value, is_written: Array) -> Value:
    """Rows combined with those written to their place; the others as they were."""
    combined = node.apply(code, data, written, *([node.i32(0)] if code in FUSING else []))
    if is_written.all():
        return combined
    count = len(is_written)
    return _pick(node, data, combined, np.arange(count) + is_written * count)
