"""How files become models: the importer is chosen by what a file contains, not by what it is called."""

from __future__ import annotations

import os
from errno import EMFILE, ENFILE

from nnapi.errors import BadDataError, OpFailedError, need, translated
from nnapi.importers import known
from nnapi.model.memory import Memory
from nnapi.model.model import Model
from nnapi.trace import Layer, Phase, Section

OTHERS = {
    b"PK\x03\x04": "a zip archive (a Keras, PyTorch or .task file?)",
    b"\x89HDF": "an HDF5 file (a Keras model?)",
    b"\x1f\x8b": "compressed with gzip",
    b"\x08": "perhaps ONNX or another protocol buffer",
}
"""What a file that no importer knows may be, by its first bytes."""


@Section(Layer.APPLICATION, Phase.PREPARATION, "load")
def load(path: str | os.PathLike[str]) -> Model:
    """The model in a file, ready to be compiled; constants are views of the mapped file, which must not change.

    Reads .tflite. Raises OSError where the file cannot be opened, and BadDataError, with a sentence, where it is no
    model, is damaged, or uses operations that NNAPI cannot express (all of them are listed). OutOfMemoryError and
    OpFailedError where the process runs out of memory or of descriptors.
    """
    memory, name = _opened(path), os.path.basename(path)
    file = known.identity(memory)
    if file is not None and (found := known.recalled(file, memory, name)):
        return found
    try:
        with translated(str(path)):
            need(memory.size, "the file is empty", BadDataError)
            head = memory.view(0, min(8, memory.size)).tobytes()
            from nnapi.importers import tflite  # on demand: reading the schema takes as long as a small model

            need(head[4:8] == tflite.IDENTIFIER, f"no model that can be read: {_guess(head)}", BadDataError)
            model = tflite.read(memory, name)
    except BadDataError as error:
        raise (error if error.sentence.startswith(f"{name} ") else error.at(str(path))) from None
    model.origin = known.Origin(file, path) if file else None
    return model


def _opened(path: str | os.PathLike[str]) -> Memory:
    try:
        return Memory.from_file(path)
    except OSError as error:
        if error.errno in (EMFILE, ENFILE):  # no fault of the file
            raise OpFailedError(str(error)) from None
        raise


def _guess(head: bytes) -> str:
    found = next((text for start, text in OTHERS.items() if head.startswith(start)), f"it starts with {head!r}")
    return f"no TFL3 in bytes 4 to 8, {found}"
