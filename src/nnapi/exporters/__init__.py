"""Write an NNAPI model to a .tflite or .onnx file."""

import os
from importlib import import_module
from pathlib import Path

from nnapi.errors import BadDataError, need, need_instance
from nnapi.exporters.file_notes import NO_NOTES, FileNotes
from nnapi.model.model import Model

FORMATS = {".tflite": "nnapi.exporters.tflite", ".onnx": "nnapi.exporters.onnx"}
"""The packages that write files, by suffix; they are imported on demand, as few programs write models."""


def export(model: Model, path: str | os.PathLike[str], *, notes: FileNotes = NO_NOTES) -> None:
    """Write a finished model to ``path``, a .tflite or .onnx file; the suffix selects the format.

    Names, types and quantization are preserved, and the file computes the same results as the model. If operations
    cannot be written, no file is written; the BadDataError lists each of them with the reason. Raises OSError if the
    file cannot be written; an old file of that name is then unchanged. ``notes`` are written for other programs.
    """
    need_instance(model, Model, "model")
    is_path = isinstance(path, str | os.PathLike)
    need(is_path, f"export takes a path, not {type(path).__name__}", BadDataError)
    target = Path(path)
    need(target.suffix in FORMATS, f"{target.name}: models are written as {' or '.join(FORMATS)}", BadDataError)
    import_module(FORMATS[target.suffix]).write(model, target, notes)
