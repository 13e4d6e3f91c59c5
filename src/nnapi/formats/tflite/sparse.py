"""Expand constants that are stored sparsely.

A position is a path in a tree with one level per axis, in any order; a blocked axis has two levels. A node has branches
for all positions on its level, or only for listed ones.
"""

from typing import NamedTuple

import numpy as np

from nnapi.errors import BadDataError, need
from nnapi.formats.tflite import schema
from nnapi.formats.tflite.flatbuffer import Record
from nnapi.model.operand import Array, Shape

LISTED = 1
VECTORS = {1: "i", 2: "H", 3: "B"}
NO_POSITIONS: Array = np.zeros((0,), np.int64)


class Level(NamedTuple):
    """One level: ``size`` branches at every node, or those of node i in ``listed[segments[i]:segments[i + 1]]``."""

    size: int
    segments: Array | None = None
    listed: Array = NO_POSITIONS


class Sparsity(NamedTuple):
    """The levels; ``order`` has the axis of each, blocks after the tensor's axes; ``blocked`` has the blocked axes."""

    order: tuple[int, ...]
    blocked: tuple[int, ...]
    levels: tuple[Level, ...]


def read_sparsity(record: Record) -> Sparsity:
    fields = schema.SparsityParameters
    levels = tuple(map(_level, record.children(fields.DIM_METADATA)))
    return Sparsity(record.numbers(fields.TRAVERSAL_ORDER, "i"), record.numbers(fields.BLOCK_MAP, "i"), levels)


def _level(record: Record) -> Level:
    fields = schema.DimensionMetadata
    if record.number(fields.FORMAT, "b") != LISTED:
        return Level(record.number(fields.DENSE_SIZE, "i"))
    return Level(
        0,
        _positions(record, fields.ARRAY_SEGMENTS_TYPE, fields.ARRAY_SEGMENTS),
        _positions(record, fields.ARRAY_INDICES_TYPE, fields.ARRAY_INDICES),
    )


def _positions(record: Record, type: int, field: int) -> Array:
    found, code = record.child(field), VECTORS.get(record.number(type, "B"))
    if found is None or code is None:
        raise BadDataError("a sparse tensor lacks a list of positions")
    return np.array(found.numbers(0, code), np.int64)


def expand(how: Sparsity, values: Array, shape: Shape, name: str) -> Array:
    rank, (order, blocked, levels) = len(shape), how
    axes = [*range(rank), *blocked]
    is_whole = sorted(order) == list(range(len(axes))) and len(levels) == len(axes)
    need(
        is_whole and len(set(blocked) | set(range(rank))) == rank, f"{name} is sparse along axes {order}", BadDataError
    )
    positions = _paths(levels, values.size, name)
    at: list[Array] = [positions[order.index(axis)] for axis in range(rank)]
    for block, axis in enumerate(blocked, start=rank):
        level = order.index(block)
        at[axis] = at[axis] * levels[level].size + positions[level]
    inside = all(((each >= 0) & (each < dimension)).all() for each, dimension in zip(at, shape, strict=True))
    need(inside, f"{name} stores elements outside {list(shape)}", BadDataError)
    result = np.zeros(shape, values.dtype)
    result[tuple(at)] = values
    return result


def _paths(levels: tuple[Level, ...], count: int, name: str) -> list[Array]:
    most = max(count, *(0 if level.segments is None else level.segments.size for level in levels), 1)
    nodes, paths = 1, list[Array]()
    for size, segments, listed in levels:
        if segments is None:
            need(0 < size <= most // nodes, f"{name} stores {count} elements, its positions are more", BadDataError)
            parents, positions = np.repeat(np.arange(nodes), size), np.tile(np.arange(size), nodes)
        else:
            lengths = np.diff(segments)
            fits = len(lengths) == nodes and segments[0] == 0 and segments[-1] == len(listed) and (lengths >= 0).all()
            need(fits, f"{name} lists {len(listed)} positions of {nodes} in {len(lengths)} segments", BadDataError)
            parents, positions = np.repeat(np.arange(nodes), lengths), listed
        paths = [*(path[parents] for path in paths), positions]
        nodes = len(positions)
    need(nodes == count, f"{name} stores {count} elements, its positions are {nodes}", BadDataError)
    return paths
