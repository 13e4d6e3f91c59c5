"""Subgraphs of a .tflite file as models."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from nnapi.errors import NnapiError
from nnapi.formats.tflite.reader import File, Subgraph, list_subgraphs
from nnapi.importers import load
from nnapi.importers.file_formats import Weights, is_dynamic_range
from nnapi.importers.refusals import Refused
from nnapi.importers.tflite.convert import Import, list_variables
from nnapi.importers.tflite.tensors import operand_type
from nnapi.model.memory import Memory
from nnapi.model.model import Model
from nnapi.model.operand import Shape


class Partition(NamedTuple):
    """Operators of a subgraph by index, with their inputs and outputs."""

    operators: Sequence[int]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


class SubgraphFile:
    def __init__(
        self, path: str | os.PathLike[str] | None, content: bytes | None, weights: Weights | None = None
    ) -> None:
        """``weights`` are as :func:`nnapi.load` takes them."""
        self._weights, self._dynamic_range = weights, is_dynamic_range(weights)
        self.source: str | bytes = os.fspath(path) if path else content or b""
        self.name = os.path.basename(self.source) if isinstance(self.source, str) else "model"
        if isinstance(self.source, str):
            self._memory = Memory.from_file(self.source)
        else:
            self._memory = Memory.from_array(np.frombuffer(self.source, np.uint8))

    @property
    def content(self) -> memoryview:
        return self._memory.view().data.toreadonly()

    def read(self) -> File:
        """Parse the file again each time: callers may change the result."""
        return File(self.content)

    def whole(
        self, index: int, shapes: Mapping[int, Shape], *, is_as_stored: bool, all_tensors: bool, keeps_state: bool
    ) -> Model:
        """Return a subgraph as a model, for ``shapes`` of its tensors.

        ``is_as_stored``: the shapes are the file's own. ``all_tensors``: every result that NNAPI can represent is an
        output, after the others. ``keeps_state``: variables follow as inputs and outputs, else each run resets them.
        """
        file = self.read()
        graph = file.subgraph(index)
        has_state = keeps_state and bool(list_variables(graph))
        is_dynamic = any(0 in tensor.shape for tensor in graph.tensors)
        if not (index or all_tensors or has_state or is_dynamic) and is_as_stored:
            return load(self.source, weights=self._weights)
        outputs = list_readable(graph) if all_tensors else graph.outputs
        return self.part(Partition(range(len(graph.operators)), graph.inputs, outputs), shapes, index, keeps_state)

    def find_refused(self, part: Partition, shapes: Mapping[int, Shape], index: int) -> list[int]:
        """Return the indices of a partition's operators that NNAPI cannot express."""
        importing, graph = self._begin(part, shapes, index, keeps_state=True)
        try:
            importing.model(index)
        except NnapiError:
            refused = set(map(id, importing.refused))
            is_inside = any(id(operator) in refused for operator in graph.operators)
            return [
                number
                for number, operator in enumerate(graph.operators)
                if id(operator) in refused or (not is_inside and list_subgraphs(operator))
            ]
        return []

    def part(self, part: Partition, shapes: Mapping[int, Shape], index: int, keeps_state: bool = True) -> Model:
        """Return operators as a model; if the shapes do not fit, with the file's dynamic ones."""
        try:
            return self._begin(part, shapes, index, keeps_state)[0].model(index)
        except NnapiError:
            if not any(0 in tensor.shape for tensor in self.read().subgraph(index).tensors):
                raise
            return self._begin(part, {}, index, keeps_state)[0].model(index)

    def _begin(
        self, part: Partition, shapes: Mapping[int, Shape], index: int, keeps_state: bool
    ) -> tuple[Import, Subgraph]:
        """Return the import of a subgraph cut down to a partition, with other shapes, and that subgraph."""
        file = self.read()
        graph = file.subgraph(index)
        graph.operators = [graph.operators[number] for number in part.operators]
        graph.inputs, graph.outputs = part.inputs, part.outputs
        for number, shape in shapes.items():
            graph.tensors[number].shape = shape
        return Import(file, self.name, keeps_state=keeps_state, dynamic_range=self._dynamic_range), graph


def list_readable(graph: Subgraph) -> tuple[int, ...]:
    """Return the outputs, then all other results for which NNAPI has a type."""
    written = (index for operator in graph.operators for index in operator.outputs if index >= 0)
    return tuple(dict.fromkeys((*graph.outputs, *(index for index in written if has_type(graph, index)))))


def has_type(graph: Subgraph, index: int) -> bool:
    try:
        operand_type(graph.tensors[index])
    except (Refused, NnapiError):
        return False
    return True
