"""Import a subgraph of a file, with merged axes if that is necessary."""

from nnapi.formats.tflite.reader import File
from nnapi.importers.refusals import UnsupportedOperationsError
from nnapi.importers.tflite.convert import Import
from nnapi.importers.tflite.node import HIGHEST_RANK
from nnapi.model.model import Model


def import_subgraph(file: File, name: str, index: int = 0, **options: bool) -> Model:
    """Return a subgraph as a model. If NNAPI cannot express it only because of inputs of high ranks, merge their axes.

    ``options`` are those of :class:`Import`.
    """
    try:
        return Import(file, name, **options).model(index)
    except UnsupportedOperationsError:
        graph = file.subgraph(index)
        if all(len(graph.tensors[each].shape) <= HIGHEST_RANK for each in graph.inputs):
            raise
        try:
            return Import(file, name, merges_axes=True, **options).model(index)
        except UnsupportedOperationsError:
            pass
        raise
