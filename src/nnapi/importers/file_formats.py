"""The file formats that can be imported, one row each. A format is recognised by a file's content, not by its name."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple

from nnapi.errors import BadDataError, need, translated
from nnapi.formats.tflite import IDENTIFIER
from nnapi.model.memory import Memory
from nnapi.model.model import Model

Content = memoryview
"""The bytes of a file."""


class FileFormat(NamedTuple):
    """``recognise`` says whether content is of the format. ``read`` makes a model of a memory.

    ``read`` is also given the path of the file, or what to call the content where there is no file.
    """

    name: str
    recognise: Callable[[Content], bool]
    read: Callable[[Memory, str], Model]


def _read_tflite(memory: Memory, path: str) -> Model:
    from nnapi.importers import tflite  # on demand: reading the schema takes as long as a small model

    return tflite.read(memory, path)


FORMATS = [FileFormat("TensorFlow Lite", lambda content: content[4:8] == IDENTIFIER, _read_tflite)]
"""In the order in which they are asked: those with an identifier first."""

OTHERS = {
    b"PK\x03\x04": "a zip archive (a Keras, PyTorch or .task file?)",
    b"\x89HDF": "an HDF5 file (a Keras model?)",
    b"\x1f\x8b": "compressed with gzip",
    b"\x08": "perhaps ONNX or another protocol buffer",
}
"""What a file that no row recognises may be, by its first bytes."""


def read(memory: Memory, path: str) -> Model:
    """The model in a memory. BadDataError where no row recognises the content, or where it is damaged."""
    name = os.path.basename(path)
    try:
        with translated(path):
            need(memory.size, "the file is empty", BadDataError)
            content = memory.view().data.toreadonly()
            for row in FORMATS:
                if row.recognise(content):
                    return row.read(memory, path)
            raise BadDataError(f"no model that can be read: {_guess(bytes(content[:8]))}")
    except BadDataError as error:
        raise (error if error.sentence.startswith(f"{name} ") else error.at(path)) from None


def _guess(head: bytes) -> str:
    found = next((text for start, text in OTHERS.items() if head.startswith(start)), f"it starts with {head!r}")
    return f"not {' or '.join(row.name for row in FORMATS)}, {found}"
