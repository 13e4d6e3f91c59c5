"""Import a subgraph of a file, with merged axes if that is necessary."""

from nnapi.formats.tflite.reader import File
from nnapi.importers.refusals import UnsupportedOperationsError
from nnapi.importers.tflite.convert import Import
from nnapi.importers.tflite.node import HIGHEST_RANK
from nnapi.importers.tflite.tensors import rank_of
from nnapi.model.model import Model


def import_subgraph(file: File, name: str, index: int = 0, **options: bool) -> Model:
    """Return a subgraph as a model. If NNAPI cannot express its high ranks, merge axes of its inputs, or else use ranks
    beyond NNAPI's.

    ``options`` are those of :class:`Import`.
    """
    try:
        return Import(file, name, **options).model(index)
    except UnsupportedOperationsError:
        graph = file.subgraph(index)
        is_input_high = any(len(graph.tensors[each].shape) > HIGHEST_RANK for each in graph.inputs)
        if is_input_high and (merged := _try_import(file, name, index, merges_axes=True, **options)):
            return merged
        is_high = any(rank_of(tensor) > HIGHEST_RANK for tensor in graph.tensors)
        if is_high and (found := _try_import(file, name, index, high_ranks=True, **options)):
            return found
        raise


def _try_import(file: File, name: str, index: int, **options: bool) -> Model | None:
    try:
        return Import(file, name, **options).model(index)
    except UnsupportedOperationsError:
        return None
