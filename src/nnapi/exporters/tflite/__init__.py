"""Write .tflite files: one rule per operation, and the same writer as the engines' drivers."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from nnapi.exporters.dynamic_dimensions import generalize, is_dynamic, list_other_shapes
from nnapi.exporters.file_notes import NO_NOTES, FileNotes
from nnapi.exporters.tflite.convert import Conversion, OtherConversion
from nnapi.exporters.tflite.tensor_names import name_tensors
from nnapi.formats.tflite.graph import Operator
from nnapi.formats.tflite.names import write_named_tensors, write_signature
from nnapi.formats.tflite.writer import serialize
from nnapi.lowering.passes.keep_shared_memory import keep_shared_memory
from nnapi.model.model import Model, Signature
from nnapi.store.files import output_file

__all__ = ["write"]

DEFAULT_KEY = "serving_default"


def write(model: Model, path: Path, notes: FileNotes = NO_NOTES) -> None:
    """Write the model; raise BadDataError with all refused operations."""
    conversion = Conversion(model).lower_file(".tflite")
    if is_dynamic(model):
        other = OtherConversion(model, list_other_shapes(model)).lower_file(".tflite")
        if _list_references(conversion) != _list_references(other):
            # A dynamic dimension of 1 or 2 equals a static one, so one subgraph serves uses with different shapes.
            conversion = Conversion.lower_copies(model)
            other = OtherConversion.lower_copies(model, list_other_shapes(model))
        ours, theirs = _list_operators(conversion), _list_operators(other)
        generalize(ours, theirs, ".tflite")
        _mark_dynamic(ours, theirs)
    graph = conversion.finish()
    graph.subgraphs = [keep_shared_memory(each) for each in conversion.subgraphs]
    name_tensors([graph, *graph.subgraphs], conversion.values.values())
    signature = model.signature or _sign(model)
    sign = None if signature is None else partial(write_signature, graph=graph, signature=signature)
    content = serialize(graph, write_named_tensors, sign, notes.archive, notes.blocks)
    with output_file(path) as file:
        file.write(content)


def _sign(model: Model) -> Signature | None:
    """Return a signature that names inputs and outputs for readers; None if a name is missing or repeated."""
    inputs, outputs = ([model.operands[index].name for index in side] for side in (model.inputs, model.outputs))
    if any("" in names or len(set(names)) < len(names) for names in (inputs, outputs)):
        return None
    ends = [tuple(zip(names, range(len(names)), strict=True)) for names in (inputs, outputs)]
    return Signature(DEFAULT_KEY, *ends)


def _list_operators(conversion: Conversion) -> list[Operator]:
    return [*conversion.operators, *(each for graph in conversion.subgraphs for each in graph.operators)]


def _list_references(conversion: Conversion) -> list[tuple[str, dict[str, Any]]]:
    """Return the operators that refer to subgraphs, with the subgraphs' indices."""
    return [(each.kind, each.options) for each in _list_operators(conversion) if each.kind in ("IF", "WHILE")]


def _mark_dynamic(ours: Sequence[Operator], theirs: Sequence[Operator]) -> None:
    for a, b in zip(ours, theirs, strict=True):
        for x, y in zip(a.outputs, b.outputs, strict=True):
            if x.shape != y.shape:
                x.signature = tuple(one if one == other else -1 for one, other in zip(x.shape, y.shape, strict=True))
