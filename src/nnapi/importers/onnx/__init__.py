"""ONNX models: protocol buffers whose operators map to operations of NNAPI, or to a few of them."""

from __future__ import annotations

import os

from nnapi.errors import BadDataError
from nnapi.importers.onnx.convert import INCONSISTENT
from nnapi.importers.onnx.reader import File
from nnapi.importers.onnx.shared import Shapes
from nnapi.importers.onnx.whole import import_file
from nnapi.importers.source_files import SeveralFiles
from nnapi.model.memory import Memory
from nnapi.model.model import Model

__all__ = ["read"]


def read(memory: Memory, path: str, shapes: Shapes | None = None) -> Model:
    """The model in a mapped ONNX file; ``shapes`` fixes dimensions of inputs that the file leaves open.

    Raises UnsupportedOperationsError listing the operators that NNAPI cannot express, BadDataError for a damaged file,
    OpFailedError where the library onnx is not installed.
    """
    file = File(memory, path)
    try:
        model = import_file(file, os.path.basename(path), shapes or {})
    except INCONSISTENT as error:  # names that are no UTF-8 come as bytes, and so on
        raise BadDataError(f"it is damaged ({type(error).__name__}: {error})") from None
    if file.mapped:
        model.origin = SeveralFiles([path, *file.mapped])
    return model
