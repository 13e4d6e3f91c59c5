"""Indices in OpenVINO's graph. The engine does not test them: they must be in range by their operators, or come from a
model input, which each run tests."""

from __future__ import annotations

from typing import NamedTuple

from nnapi.drivers.openvino.value import Node, node_of

DEEPEST = 8
"""Maximum number of nodes in a chain; the range of deeper ones counts as unknown."""
VIEWS = frozenset({"Reshape", "Squeeze", "Unsqueeze"})
REPEATS = frozenset({"Broadcast", "Tile", "Transpose"})
"""Types of nodes whose result has all elements of their first input, in another order."""
MOVES = VIEWS | REPEATS | {"Gather", "Slice", "Split", "StridedSlice"}
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
        size = inputs[0].get_partial_shape()[node.get_axis()]
        return Range(0, size.get_length() - 1) if size.is_static else UNKNOWN
    if name == "NonZero":
        sizes = [each.get_max_length() for each in inputs[0].get_partial_shape()]
        return Range(0, max(sizes) - 1) if sizes and min(sizes) > 0 else UNKNOWN
    if name in MOVES:
        return find_range(inputs[0], depth + 1)
    if name not in ("Add", "Maximum", "Minimum", "Select", "Subtract"):
        return UNKNOWN
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


class IndexSource(NamedTuple):
    """A model input whose numbers are the indices; ``is_raised`` if negative ones become 0, ``is_in_order`` if they are
    neither repeated nor moved."""

    parameter: Node
    is_raised: bool = False
    is_in_order: bool = True


def find_source(value: Node) -> IndexSource | None:
    """Return the model input that indices come from; None for other indices."""
    node = node_of(value)
    name, inputs = node.get_type_name(), node.input_values()
    if name == "Parameter":
        return IndexSource(node)
    if name in VIEWS | REPEATS:
        source = find_source(inputs[0])
        return source._replace(is_in_order=False) if source and name in REPEATS else source
    if name == "Maximum" and _is_zero(inputs[1]):
        source = find_source(inputs[0])
        return source and source._replace(is_raised=True)
    return None


def _is_zero(value: Node) -> bool:
    node = value.get_node()
    return node.get_type_name() == "Constant" and node.get_data().size == 1 and not node.get_data().any()
