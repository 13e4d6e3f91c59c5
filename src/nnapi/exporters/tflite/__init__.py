"""NNAPI models as TensorFlow Lite files: one rule for each operation, and the writer that the engine drivers use."""

from __future__ import annotations

from pathlib import Path

from nnapi.errors import BadDataError, need
from nnapi.exporters.tflite.convert import Conversion
from nnapi.formats.tflite.named_tensors import write_named_tensors
from nnapi.formats.tflite.writer import serialise
from nnapi.model.model import Model
from nnapi.runtime.store.files import PUBLIC, replace_file

__all__ = ["write"]


def write(model: Model, path: Path) -> None:
    """Write the model; BadDataError listing what cannot be written."""
    conversion = Conversion(model).run()
    refused = [verdict.reason for verdict in conversion.verdicts if not verdict.supported]
    need(not refused, f"{model.name} cannot be written as .tflite: {'; '.join(refused)}", BadDataError)
    content = serialise(conversion.finish(), write_named_tensors, conversion.subgraphs)
    with replace_file(path, PUBLIC) as file:
        file.write(content)
