"""Outputs that are maps, which ZipMap makes from the rows of a tensor. NNAPI's models have the tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import onnx

Keys = Sequence[int] | Sequence[str]


def list_map_keys(graph: onnx.GraphProto) -> dict[str, Keys]:
    """Return the keys of the maps in each output that a ZipMap writes, by the output's name."""
    found = {}
    for node in graph.node:
        if node.op_type == "ZipMap":
            for attribute in node.attribute:
                if attribute.name == "classlabels_int64s":
                    found[node.output[0]] = list(attribute.ints)
                elif attribute.name == "classlabels_strings":
                    found[node.output[0]] = [each.decode(errors="replace") for each in attribute.strings]
    return {info.name: found[info.name] for info in graph.output if info.name in found}
