"""The file formats that can be imported, recognized by their content."""

import os
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple

from nnapi.errors import BadDataError, need, translate_errors
from nnapi.formats.tflite import IDENTIFIER
from nnapi.model.memory import Memory
from nnapi.model.model import Model

Content = memoryview


Weights = Literal["dynamic-range"]
DYNAMIC_RANGE: Weights = "dynamic-range"


class ImportOptions(NamedTuple):
    shapes: Mapping[str, Sequence[int]] = MappingProxyType({})
    int16_as_float: bool = False
    weights: Weights | None = None


NO_OPTIONS = ImportOptions()


def is_dynamic_range(weights: str | None) -> bool:
    """Return whether weights stay quantized; raise BadDataError for an unknown value of the option."""
    is_known = weights in (None, DYNAMIC_RANGE)
    need(is_known, f"weights is {weights!r}, must be {DYNAMIC_RANGE!r} or None", BadDataError)
    return weights is not None


class FileFormat(NamedTuple):
    """A file format. ``read`` takes a memory, and the file's path or a description of its source."""

    name: str
    recognize: Callable[[Content], bool]
    read: Callable[[Memory, str, ImportOptions], Model]


def _read_tflite(memory: Memory, path: str, options: ImportOptions) -> Model:
    from nnapi.importers import tflite  # on demand: reading the schema takes as long as importing a small model

    dynamic_range = is_dynamic_range(options.weights)
    return tflite.read(memory, path, options.shapes, int16_as_float=options.int16_as_float, dynamic_range=dynamic_range)


def _read_onnx(memory: Memory, path: str, options: ImportOptions) -> Model:
    need(not options.int16_as_float, "int16_as_float is for .tflite", BadDataError)
    need(not is_dynamic_range(options.weights), f"weights={options.weights!r} is for .tflite", BadDataError)
    from nnapi.importers import onnx

    return onnx.read(memory, path, options.shapes)


def _is_onnx(content: Content) -> bool:
    return len(content) > 2 and content[0] == 0x08 and 0 < content[1] < 0x40 and content[2] in ONNX_FIELDS


ONNX_FIELDS = (0x12, 0x1A, 0x22, 0x28, 0x32, 0x3A, 0x42, 0x72, 0xA2, 0xCA)
"""First bytes of the fields that may follow the version in an ONNX file."""
FORMATS = [
    FileFormat("TensorFlow Lite", lambda content: content[4:8] == IDENTIFIER, _read_tflite),
    FileFormat("ONNX", _is_onnx, _read_onnx),
]
"""The formats, in the order in which they are tried: those with an identifier come first."""

OTHERS = {
    b"PK\x03\x04": "a zip archive (a Keras, PyTorch or .task file?)",
    b"\x89HDF": "an HDF5 file (a Keras model?)",
    b"\x1f\x8b": "compressed with gzip",
    b"\x08": "perhaps a protocol buffer",
}
"""Names of other file formats, by their first bytes, for error messages."""


def read_model(memory: Memory, path: str, options: ImportOptions = NO_OPTIONS) -> Model:
    """Read the model in a memory; raise BadDataError if its format is unknown or it is damaged."""
    name = os.path.basename(path)
    try:
        with translate_errors(path):
            need(memory.size, "the file is empty", BadDataError)
            content = memory.view().data.toreadonly()
            for row in FORMATS:
                if row.recognize(content):
                    return row.read(memory, path, options)
            raise BadDataError(f"no model that can be read: {_guess(bytes(content[:8]))}")
    except BadDataError as error:
        raise (error if error.message.startswith(f"{name} ") else error.at(path)) from None


def _guess(head: bytes) -> str:
    found = next((text for start, text in OTHERS.items() if head.startswith(start)), f"it starts with {head!r}")
    return f"not {' or '.join(row.name for row in FORMATS)}, {found}"
