"""How files become models: the importer is chosen by what a file contains, not by what it is called."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from errno import EMFILE, ENFILE
from io import TextIOBase
from mmap import PROT_READ
from stat import S_ISREG
from typing import BinaryIO, TypeAlias

import numpy as np

from nnapi.errors import BadDataError, OpFailedError, need
from nnapi.importers import import_cache
from nnapi.importers.file_formats import ImportOptions, Weights
from nnapi.model.memory import Memory
from nnapi.model.model import Model
from nnapi.trace import Layer, Phase, Section

Source: TypeAlias = "str | os.PathLike[str] | bytes | bytearray | memoryview | BinaryIO"
"""Where a model is read from: a file by its path, its bytes, or itself, open for reading in binary."""


@Section(Layer.APPLICATION, Phase.PREPARATION, "load")
def load(
    source: Source,
    shapes: Mapping[str, Sequence[int]] | None = None,
    *,
    int16_as_float: bool = False,
    weights: Weights | None = None,
) -> Model:
    """The model in a file, ready to be compiled; constants are views of the mapped file, which must not change.

    ``source`` is a path, the file's bytes, or a file that is open for reading in binary, of which the model is what
    follows its position; one that cannot be mapped, as a pipe or a member of an archive, is read.

    Reads .tflite and, with the library ``onnx`` (``pip install 'nnapi[onnx]'``), .onnx. ``shapes`` fixes dimensions of
    inputs, by name, that an .onnx file leaves open, as ``{"x": (1, 3, 224, 224)}``. With ``int16_as_float`` tensors of
    16-bit codes in a .tflite file, which NNAPI has no operations for, are float32, its inputs and outputs too; a note
    in ``Model.notes`` says how far that may lead away. With ``weights="dynamic-range"`` weights of 8 or 4 bits beside
    float inputs in a .tflite file stay codes, and devices may compute with these and quantise the inputs, as TensorFlow
    Lite does: :meth:`Model.permit_dynamic_range`. By default they are the real numbers that they stand for.

    Raises OSError where the file cannot be opened, and BadDataError, with a message, where it is no model, is damaged,
    or uses operations that NNAPI cannot express (all of them are listed). OutOfMemoryError and OpFailedError where the
    process runs out of memory or of descriptors.
    """
    return import_cache.load(*_open(source), ImportOptions(shapes or {}, int16_as_float, weights))


def _open(source: Source) -> tuple[Memory, str]:
    """The bytes of a model and what to call them."""
    if isinstance(source, bytes | bytearray | memoryview):
        return Memory.from_array(np.frombuffer(source, np.uint8)), "model"
    try:
        if isinstance(source, str | os.PathLike):
            return Memory.from_file(source), os.fspath(source)
        return _open_file(source)
    except OSError as error:
        if error.errno in (EMFILE, ENFILE):  # no fault of the file
            raise OpFailedError(str(error)) from None
        raise


def _open_file(file: BinaryIO) -> tuple[Memory, str]:
    kind = type(file).__name__
    need(
        hasattr(file, "read"), f"load takes a path, bytes or a file that is open for reading, not {kind}", BadDataError
    )
    name = file.name if isinstance(getattr(file, "name", None), str) else "file"
    need(not isinstance(file, TextIOBase), f"{name} is open as text; open it in binary, mode 'rb'", BadDataError)
    try:
        stat, position = os.fstat(file.fileno()), file.tell()
    except OSError:  # no file of the system's, or one without a position
        stat = None
    if stat is None or not S_ISREG(stat.st_mode):
        return Memory.from_array(np.frombuffer(file.read(), np.uint8)), name
    return Memory.from_fd(max(stat.st_size - position, 0), PROT_READ, file.fileno(), position), name
