"""Find the dynamic dimensions of a graph, which PyTorch creates after sizes have changed between calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch


class OpenDimensions(NamedTuple):
    """Names of dynamic dimensions by input and axis, and the (input, axis) of inputs that are sizes."""

    names: Mapping[int, Mapping[int, str]]
    sizes: Mapping[int, tuple[int, int]]


def find_open_dimensions(graph: Any) -> OpenDimensions | None:
    """Return the dynamic dimensions of a graph's inputs; None if there are none, or if a size belongs to no tensor."""
    examples = [node.meta.get("example_value") for node in graph.graph.nodes if node.op == "placeholder"]
    names = {
        place: {axis: str(size) for axis, size in enumerate(each.shape) if isinstance(size, torch.SymInt)}
        for place, each in enumerate(examples)
        if isinstance(each, torch.Tensor)
    }
    places = {name: (place, axis) for place, axes in names.items() for axis, name in axes.items()}
    wanted = {place: str(each) for place, each in enumerate(examples) if isinstance(each, torch.SymInt)}
    if not places or any(name not in places for name in wanted.values()):
        return None
    return OpenDimensions(names, {place: places[name] for place, name in wanted.items()})
