"""Subgraphs of a .tflite file as models."""

import os
from collections.abc import Mapping

import numpy as np

from nnapi.errors import NnapiError
from nnapi.formats.tflite.reader import File, Subgraph
from nnapi.importers import load
from nnapi.importers.file_formats import Weights, is_dynamic_range
from nnapi.importers.refusals import Refused
from nnapi.importers.tflite.convert import Import, list_variables
from nnapi.importers.tflite.tensors import operand_type
from nnapi.model.memory import Memory
from nnapi.model.model import Model
from nnapi.model.operand import Shape


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
    def path_and_content(self) -> tuple[str | None, bytes | None]:
        """The first arguments of LiteRT's interpreters, of which one is None."""
        return (self.source, None) if isinstance(self.source, str) else (None, self.source)

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
        output, after the others. ``keeps_state``: variables follow as inputs and outputs, else each run resets them. If
        the shapes do not fit, the file's dynamic ones remain.
        """
        file = self.read()
        graph = file.subgraph(index)
        has_state = keeps_state and bool(list_variables(graph))
        is_dynamic = any(0 in tensor.shape for tensor in graph.tensors)
        if not (index or all_tensors or has_state or is_dynamic) and is_as_stored:
            return load(self.source, weights=self._weights)
        outputs = list_readable(graph) if all_tensors else graph.outputs
        try:
            return self._import(index, outputs, shapes, keeps_state)
        except NnapiError:
            if not is_dynamic:
                raise
            return self._import(index, outputs, {}, keeps_state)

    def _import(self, index: int, outputs: tuple[int, ...], shapes: Mapping[int, Shape], keeps_state: bool) -> Model:
        """Return a subgraph as a model with other outputs and shapes."""
        file = self.read()
        graph = file.subgraph(index)
        graph.outputs = outputs
        for number, shape in shapes.items():
            graph.tensors[number].shape = shape
        return Import(file, self.name, keeps_state=keeps_state, dynamic_range=self._dynamic_range).model(index)


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
