"""A check that the engine's compiled graph agrees with itself about the sizes of its tensors.

The engine's passes may change the dimensions of a value, but not those of the nodes after it. The engine then writes
beyond the memory of its result, although the compiled model declares the right dimensions.
"""

from collections.abc import Iterator
from math import prod
from typing import Any

from nnapi.errors import OpFailedError

MOVING = frozenset({"Convert", "Output", "Reorder", "Reshape", "Transpose"})
"""The engine's types of nodes whose results have as many elements as their first input."""


def need_consistent(compiled: Any) -> None:
    """Raise OpFailedError if a node of the engine's graph reads or writes more elements than its tensors have."""
    for node, given, made in _find_contradictions(compiled):
        raise OpFailedError(f"OpenVINO makes a graph in which {node} turns the dimensions {given} into {made}")


def _find_contradictions(compiled: Any) -> Iterator[tuple[str, list[int], list[int]]]:
    """Yield the name of each such node, and the dimensions of its input and of its result."""
    for node in compiled.get_runtime_model().get_ops():
        if _kind(node) not in MOVING or not node.get_output_size():
            continue
        ends = node.input(0), node.output(0)
        if all(end.get_partial_shape().is_static for end in ends):  # others depend on data
            given, made = (list(end.get_shape()) for end in ends)
            if prod(given) != prod(made):
                yield node.get_friendly_name(), given, made


def _kind(node: Any) -> str:
    kind = node.get_rt_info()["layerType"]
    return str(getattr(kind, "value", kind))
