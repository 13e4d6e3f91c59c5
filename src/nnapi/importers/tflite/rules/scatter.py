"""Scatter operators. NNAPI has no scatter; a product with a one-hot matrix adds the elements at their indices."""

from __future__ import annotations

import math

import numpy as np

from nnapi.codes import OperationCode
from nnapi.importers.arithmetic import add, choose, subtract, truth
from nnapi.importers.graph import INT32, Value
from nnapi.importers.refusals import expressible
from nnapi.importers.tflite.node import TfliteNode
from nnapi.importers.tflite.rules import rule
from nnapi.importers.tflite.rules.indexing import flat_places
from nnapi.model.operand import OperandType


@rule("SCATTER_ND")
def scatter_nd(node: TfliteNode) -> None:
    """Lower SCATTER_ND; updates of the same index are summed."""
    indices, updates, shape = node.input(0), node.graph.real(node.input(1)), node.numbers(2)
    node.deliver(_add_at(node, indices, updates, shape))


@rule("SPARSE_TO_DENSE")
def sparse_to_dense(node: TfliteNode) -> None:
    """Lower SPARSE_TO_DENSE: add the differences of the values from the default."""
    indices, shape = node.input(0), node.numbers(1)
    values, default = node.input(2), node.input(3)
    depth = indices.shape[-1] if indices.rank > 1 else 1
    rows = node.reshape(indices, (math.prod(node.static_shape_of(indices)) // depth, depth))
    count = rows.shape[0]
    difference = node.apply(OperationCode.SUB, values, default, node.i32(0), shape=values.shape)
    if values.shape != (count,):
        difference = node.apply(OperationCode.TILE, difference, node.graph.ints([count]), shape=(count,))
    node.deliver(add(node, _add_at(node, rows, difference, shape), default))


@rule("UNSORTED_SEGMENT_SUM")
def unsorted_segment_sum(node: TfliteNode) -> None:
    data, ids, count = node.graph.real(node.input(0)), node.input(1), node.number(2)
    places = node.reshape(ids, (*node.static_shape_of(ids), 1))
    node.deliver(_add_at(node, places, data, [count, *data.shape[ids.rank :]]))


@rule("SEGMENT_SUM")
def segment_sum(node: TfliteNode) -> None:
    data, ids = node.graph.real(node.input(0)), node.numbers(1)
    places = node.reshape(node.input(1), (len(ids), 1))
    node.deliver(_add_at(node, places, data, [max(ids) + 1, *data.shape[1:]]))


def _add_at(node: TfliteNode, indices: Value, updates: Value, shape: list[int]) -> Value:
    """Zeros of ``shape`` with the updates added at their indices, the last axis of which are coordinates."""
    *outer, depth = node.static_shape_of(indices)
    expressible(0 < depth <= len(shape), f"it has {depth} indices for {len(shape)} axes")
    places, count = math.prod(shape[:depth]), math.prod(outer)
    width = math.prod(shape[depth:])
    node.graph.reserve(12 * places * count)
    row = node.reshape(flat_places(node, indices, shape), (1, count))
    column = node.graph.ints(np.arange(places).reshape(places, 1))
    hit = truth(node, OperationCode.EQUAL, row, column)
    type = OperandType(updates.type.code, (places, count))
    ones, zeros = (node.graph.constant(np.full(type.dimensions, number, type.dtype)) for number in (1, 0))
    rows, keep = node.reshape(updates, (count, width)), node.flag(False)
    return node.reshape(node.apply(OperationCode.BATCH_MATMUL, choose(node, hit, ones, zeros), rows, keep, keep), shape)


@rule("DYNAMIC_UPDATE_SLICE")
def dynamic_update_slice(node: TfliteNode) -> None:
    """Along each axis the update is stretched to where it goes; a mask then chooses between it and the input."""
    x, update, start = node.input(0), node.input(1), node.input(2)
    shape = node.static_shape_of(x)
    expressible(update.rank == x.rank, f"its update has rank {update.rank}, its input {x.rank}")
    mask: Value | None = None
    for axis, (dimension, width) in enumerate(zip(shape, node.static_shape_of(update), strict=True)):
        if width == dimension:
            continue
        node.graph.reserve(4 * dimension)
        begin = node.apply(OperationCode.SLICE, start, node.graph.ints([axis]), node.graph.ints([1]), shape=(1,))
        begin = _clamp(node, begin, 0, dimension - width)
        places = subtract(node, node.graph.ints(np.arange(dimension)), begin)
        source = _clamp(node, places, 0, width - 1)
        stretched = (*update.shape[:axis], dimension, *update.shape[axis + 1 :])
        update = node.apply(OperationCode.GATHER, update, node.i32(axis), source, shape=stretched)
        inside = truth(node, OperationCode.EQUAL, places, source)
        inside = node.reshape(inside, [dimension if i == axis else 1 for i in range(x.rank)])
        mask = inside if mask is None else truth(node, OperationCode.LOGICAL_AND, mask, inside)
    if mask is None:
        node.deliver(update)
        return
    node.graph.reserve(math.prod(shape))
    whole = node.graph.constant(np.ones(shape, np.bool_))
    node.deliver(choose(node, truth(node, OperationCode.LOGICAL_AND, mask, whole), update, x))


def _clamp(node: TfliteNode, value: Value, low: int, high: int) -> Value:
    """Integers held between two bounds."""
    assert value.type.code == INT32
    raised = node.apply(OperationCode.MAXIMUM, value, node.like(value, low))
    return node.apply(OperationCode.MINIMUM, raised, node.like(value, high))
