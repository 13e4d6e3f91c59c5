"""The state that the graphs of one file share during the conversion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nnapi.importers.graph import Allowance
from nnapi.importers.onnx.reader import File
from nnapi.importers.refusals import Refusal

MOST_NODES = 200_000
"""The largest number of nodes after functions and loops are inlined."""
MADE_UP = 256 << 20
"""Bytes of constants that may be created: networks without training data have ConstantOfShape weights."""
Shapes = Mapping[str, Sequence[int]]
"""Dimensions of inputs, by name."""


class ImportState:
    def __init__(self, file: File, name: str, shapes: Shapes) -> None:
        self.file = file
        self.name = name
        self.shapes = shapes
        self.refusals: list[Refusal] = []
        self.allowance = Allowance(file.size, MADE_UP)
        self.notes: dict[str, None] = {}
        self.functions = {(each.domain, each.name): each for each in file.proto.functions}
        self.nodes_left = MOST_NODES
