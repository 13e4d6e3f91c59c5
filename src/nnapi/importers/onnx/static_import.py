"""Import an ONNX file as one model, with dynamic dimensions where NNAPI can express them."""

from __future__ import annotations

import os

from nnapi.errors import BadDataError, need
from nnapi.importers.build import build
from nnapi.importers.graph import Graph
from nnapi.importers.onnx.absorption import Absorption
from nnapi.importers.onnx.convert import INCONSISTENT, Conversion
from nnapi.importers.onnx.definitions import need_defined
from nnapi.importers.onnx.ends import begin, end
from nnapi.importers.onnx.import_state import ImportState, Shapes
from nnapi.importers.onnx.reader import NEWEST, File, newest_opset
from nnapi.importers.refusals import UnsupportedOperationsError
from nnapi.importers.source_files import SeveralFiles
from nnapi.model.model import Model


def read_file(file: File, path: str, shapes: Shapes | None = None) -> Model:
    """Return the model in a file; raise the errors of :func:`read`."""
    try:
        model = _import(file, os.path.basename(path), shapes or {})
    except INCONSISTENT as error:  # names that are not UTF-8 are bytes, for example
        raise BadDataError(f"it is damaged ({type(error).__name__}: {error})") from None
    if file.mapped:
        model.origin = SeveralFiles(path, list(file.mapped))
    return model


def _import(file: File, name: str, shapes: Shapes) -> Model:
    state = ImportState(file, name, shapes)
    graph = file.proto.graph
    names = {each.name for each in graph.input}
    unknown = sorted(set(shapes) - names)
    need(
        not unknown,
        f"it has no input {', '.join(unknown)}; its inputs are {', '.join(sorted(names))}",
        BadDataError,
    )
    need_defined(graph)
    conversion = Conversion(state, Graph(state.allowance), file.opsets)
    if (newest := newest_opset()) < file.opsets[""] < NEWEST:
        conversion.note(f"the file is of opset {file.opsets['']}; it is read as opset {newest}, the newest known here")
    inputs = begin(conversion, graph)
    conversion.run(graph.node, [each.name for each in graph.output])
    outputs = end(conversion, graph)
    if state.refusals:
        raise UnsupportedOperationsError.of(name, state.refusals)
    Absorption(conversion.graph, outputs).run()
    model = Model(os.path.splitext(name)[0])
    model.notes = tuple(state.notes)
    return build(conversion.graph, model, inputs, outputs)
