"""Write ONNX files: one rule per operation; quantized values lie between QuantizeLinear and DequantizeLinear."""

from collections.abc import Iterable
from itertools import count
from pathlib import Path

from nnapi.errors import BadDataError, OpFailedError, need
from nnapi.exporters.dynamic_dimensions import generalize, is_dynamic, list_other_shapes
from nnapi.exporters.file_notes import NO_NOTES, FileNotes
from nnapi.exporters.nested import need_few_copies
from nnapi.exporters.onnx.convert import Conversion, OtherConversion
from nnapi.exporters.onnx.graph import Graph, list_graphs, list_nodes
from nnapi.exporters.onnx.transposes import sink_transposes
from nnapi.model.model import Model
from nnapi.model.nesting import depths
from nnapi.store.files import output_file

__all__ = ["write"]

DEEPEST = 20
"""Maximum depth of nested models, as in the importer."""
INSTALL = "writing ONNX needs the library onnx: pip install 'nnapi[onnx]'"


def write(model: Model, path: Path, notes: FileNotes = NO_NOTES) -> None:
    """Write the model; BadDataError lists refused operations, OpFailedError names a missing library.

    If the constants have more than 2 GiB, they are written to PATH.data.
    """
    depth = depths(model)[model]
    said = f"its models are nested {depth} deep, at most {DEEPEST} levels are possible"
    need(depth <= DEEPEST, f"{model.name} cannot be written as .onnx: {said}", BadDataError)
    need_few_copies(model, ".onnx")
    graph = Conversion(model).lower_file(".onnx").finish()
    if is_dynamic(model):
        other = OtherConversion(model, list_other_shapes(model)).lower_file(".onnx").finish()
        generalize(list(list_nodes(graph)), list(list_nodes(other)), ".onnx")
        _mark_dynamic(list_graphs(graph), list_graphs(other))
    try:
        from nnapi.exporters.onnx.writer import serialize
    except ImportError as error:
        raise OpFailedError(INSTALL) from error
    data_path = path.with_name(f"{path.name}.data")
    description = "\n".join(filter(None, [notes.description, *model.notes]))
    sunk = sink_transposes(graph, is_dynamic(model))
    content, data = serialize(sunk, description, data_path.name, notes.properties)
    if data:
        with output_file(data_path) as file:
            for array in data:
                file.write(array.data if array.flags.c_contiguous else array.tobytes())
    with output_file(path) as file:
        file.write(content)


def _mark_dynamic(ours: Iterable[Graph], theirs: Iterable[Graph]) -> None:
    """Name the dimensions of outputs that depend on the data, of which the model may not even know the rank."""
    numbers = count()
    for graph, other in zip(ours, theirs, strict=True):
        for x, y in zip(graph.outputs, other.outputs, strict=True):
            differing = [axis for axis, (a, b) in enumerate(zip(x.shape, y.shape, strict=True)) if a != b]
            x.dynamic = {axis: x.dynamic.get(axis) or f"unknown_{next(numbers)}" for axis in differing}
