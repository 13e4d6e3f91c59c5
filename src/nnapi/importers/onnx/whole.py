"""An ONNX file on its way into a model."""

from __future__ import annotations

import os

from nnapi.errors import BadDataError, need
from nnapi.importers.build import build
from nnapi.importers.file_formats import Shapes
from nnapi.importers.graph import Allowance, Graph
from nnapi.importers.onnx.convert import MOST_NODES, Conversion
from nnapi.importers.onnx.reader import File
from nnapi.importers.refusals import Refusal, UnsupportedOperationsError
from nnapi.model.model import Model


class Import:
    """What the graphs of one file share while they are converted."""

    def __init__(self, file: File, name: str, shapes: Shapes) -> None:
        self.file = file
        self.name = name
        self.shapes = shapes
        self.refusals: list[Refusal] = []
        self.allowance = Allowance(file.size)
        self.notes: dict[str, None] = {}
        self.functions = {(each.domain, each.name): each for each in file.proto.functions}
        self.nodes_left = MOST_NODES

    def model(self) -> Model:
        """The file as a model; UnsupportedOperationsError listing every node that cannot be expressed."""
        graph = self.file.proto.graph
        names = {each.name for each in graph.input}
        unknown = sorted(set(self.shapes) - names)
        need(
            not unknown,
            f"it has no input {', '.join(unknown)}; its inputs are {', '.join(sorted(names))}",
            BadDataError,
        )
        conversion = Conversion(self, Graph(self.allowance), self.file.opsets)
        inputs = conversion.begin(graph)
        conversion.run(graph.node, [each.name for each in graph.output])
        outputs = conversion.results([each.name for each in graph.output])
        if self.refusals:
            raise UnsupportedOperationsError.of(self.name, self.refusals)
        model = Model(os.path.splitext(self.name)[0])
        model.notes = tuple(self.notes)
        return build(conversion.graph, model, inputs, outputs)
