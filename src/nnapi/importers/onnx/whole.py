"""An ONNX file on its way into a model."""

from __future__ import annotations

import os

from nnapi.errors import BadDataError, need
from nnapi.importers.build import build
from nnapi.importers.graph import Graph
from nnapi.importers.onnx.convert import Conversion
from nnapi.importers.onnx.reader import File
from nnapi.importers.onnx.shared import Shapes, Shared
from nnapi.importers.refusals import UnsupportedOperationsError
from nnapi.model.model import Model


def import_file(file: File, name: str, shapes: Shapes) -> Model:
    """The file as a model; UnsupportedOperationsError listing every node that cannot be expressed."""
    shared = Shared(file, name, shapes)
    graph = file.proto.graph
    names = {each.name for each in graph.input}
    unknown = sorted(set(shapes) - names)
    need(
        not unknown,
        f"it has no input {', '.join(unknown)}; its inputs are {', '.join(sorted(names))}",
        BadDataError,
    )
    conversion = Conversion(shared, Graph(shared.allowance), file.opsets)
    inputs = conversion.begin(graph)
    conversion.run(graph.node, [each.name for each in graph.output])
    outputs = conversion.results([each.name for each in graph.output])
    if shared.refusals:
        raise UnsupportedOperationsError.of(name, shared.refusals)
    model = Model(os.path.splitext(name)[0])
    model.notes = tuple(shared.notes)
    return build(conversion.graph, model, inputs, outputs)
