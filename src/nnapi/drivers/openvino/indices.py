"""Indices in OpenVINO's graph. The engine does not test them: they must be in range by their operators, or come from a
model input, which each run tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nnapi.drivers.openvino.value import Node, node_of
from nnapi.model.operand import Array

DEEPEST = 8
"""Maximum number of nodes in a chain; the range of deeper ones counts as unknown."""
VIEWS = frozenset({"Reshape", "Squeeze", "Unsqueeze"})
MOVES = VIEWS | {"Broadcast", "Gather", "Slice", "Split", "StridedSlice", "Tile", "Transpose"}
"""Types of nodes whose result has only elements of their first input."""


class Range(NamedTuple):
    low: int
    high: int


LOWEST = -(2**31)
UNKNOWN = Range(LOWEST, 2**31 - 1)


def find_range(value: Node, depth: int = 0) -> Range:
    """Return the lowest and the highest number that an int32 output may have, as far as its operators tell."""
    output = value.output(0) if hasattr(value, "output") else value
    node = output.get_node()
    if depth == DEEPEST or output.get_element_type().get_type_name() != "i32":
        return UNKNOWN
    name, inputs = node.get_type_name(), node.input_values()
    if name == "Constant":
        data = node.get_data()
        return Range(int(data.min()), int(data.max())) if data.size else UNKNOWN
    if name == "TopK" and output.get_index() == 1:
        return Range(0, inputs[0].get_shape()[node.get_axis()] - 1)
    if name in MOVES:
        return find_range(inputs[0], depth + 1)
    if name not in ("Add", "Maximum", "Minimum", "Select", "Subtract"):
        return UNKNOWN
    if name == "Select" and _is_never_negative(inputs[0].get_node(), depth + 1):
        return find_range(inputs[2], depth + 1)
    a, b = (find_range(each, depth + 1) for each in inputs[-2:])
    combined = {
        "Add": Range(a.low + b.low, a.high + b.high),
        "Maximum": Range(max(a.low, b.low), max(a.high, b.high)),
        "Minimum": Range(min(a.low, b.low), min(a.high, b.high)),
        "Select": Range(min(a.low, b.low), max(a.high, b.high)),
        "Subtract": Range(a.low - b.high, a.high - b.low),
    }[name]
    overflows = combined.low < UNKNOWN.low or combined.high > UNKNOWN.high
    return UNKNOWN if overflows else combined


def _is_never_negative(condition: Node, depth: int) -> bool:
    """Return whether ``condition`` is x < 0 for an x that is never negative."""
    if condition.get_type_name() != "Less" or not _is_number(condition.input_value(1), 0):
        return False
    return find_range(condition.input_value(0), depth).low >= 0


class Source(NamedTuple):
    """A model input whose numbers are the indices: every ``columns``-th from ``column`` on.

    To negative ones, ``wraps`` is added, a number for each column; if it is None, they become 0.
    """

    parameter: Node
    wraps: Sequence[int] | None = (0,)
    column: int = 0
    columns: int = 1

    def least(self, limit: int) -> int | None:
        """Return the lowest number that becomes an index in ``0..limit - 1``; None for wraps that do not fit."""
        if self.wraps is None:
            return LOWEST
        wraps = tuple(self.wraps)
        return 0 if wraps == (0,) else -limit if wraps == (limit,) else None


def find_source(value: Node) -> Source | None:
    """Return the model input that indices come from, as importers read it; None for other indices."""
    node = node_of(value)
    name, inputs = node.get_type_name(), node.input_values()
    if name == "Parameter":
        return Source(node)
    if name in VIEWS:
        return find_source(inputs[0])
    if name == "Maximum":
        source = find_source(inputs[0])
        return source._replace(wraps=None) if source and source.wraps == (0,) and _is_number(inputs[1], 0) else None
    if name == "Select":
        return _find_wrapped(inputs)
    if name == "Split":
        return _find_column(inputs, value.get_index())
    return None


def _find_wrapped(inputs: Sequence[Node]) -> Source | None:
    """Return the source of x for a Select of x, or x + n where x is negative."""
    is_negative, wrapped, x = (each.get_node() for each in inputs)
    if is_negative.get_type_name() != "Less" or wrapped.get_type_name() != "Add":
        return None
    source, counts = find_source(inputs[2]), _read(wrapped.input_value(1))
    same = all(each.input_value(0).get_node().get_name() == x.get_name() for each in (is_negative, wrapped))
    if not same or source is None or source.wraps != (0,) or not _is_number(is_negative.input_value(1), 0):
        return None
    is_by_column = counts.size and counts.size in (1, inputs[2].get_shape()[-1]) and counts.size == counts.shape[-1]
    return source._replace(wraps=tuple(map(int, counts.reshape(-1)))) if is_by_column else None


def _find_column(inputs: Sequence[Node], position: int) -> Source | None:
    """Return the source of a column that a Split along the last axis gives."""
    source, shape = find_source(inputs[0]), tuple(inputs[0].get_shape())
    if source is None or source.columns > 1 or not _is_number(inputs[1], len(shape) - 1):
        return None
    wraps = source.wraps if source.wraps is None or len(source.wraps) == 1 else (source.wraps[position],)
    return source._replace(wraps=wraps, column=position, columns=shape[-1])


def _read(value: Node) -> Array:
    """Return a constant, with at least one dimension; no elements for a computed value."""
    node = value.get_node()
    return np.atleast_1d(node.get_data()) if node.get_type_name() == "Constant" else np.zeros(0)


def _is_number(value: Node, number: int) -> bool:
    found = _read(value)
    return bool(found.size == 1 and found.reshape(-1)[0] == number)
