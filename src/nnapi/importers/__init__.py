"""Load models from files; a file's content decides which importer reads it."""

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
"""The source of a model: a path, the file's bytes, or a file that is open for reading in binary mode."""


@Section(Layer.APPLICATION, Phase.PREPARATION, "load")
def load(
    source: Source,
    shapes: Mapping[str, Sequence[int]] | None = None,
    *,
    int16_as_float: bool = False,
    weights: Weights | None = None,
) -> Model:
    """Load the model in a file. Its constants are views of the mapped file, which must not change while it is used.

    ``source`` is a path, the file's bytes, or a file that is open for reading in binary mode; the model begins at the
    file's position. A file that cannot be mapped, such as a pipe or a member of an archive, is read into memory. The
    formats are .tflite and .onnx. Few operators of .onnx need the library ``onnx`` (``pip install 'nnapi[onnx]'``).

    ``shapes`` sets dynamic dimensions of inputs, by name, as in ``{"x": (1, 3, 224, 224)}``.

    With ``int16_as_float``, all 16-bit quantized tensors of a .tflite file become float32, inputs and outputs too:
    NNAPI has no operations on 16-bit tensors. A note in ``Model.notes`` states the largest difference.

    With ``weights="dynamic-range"``, 8-bit and 4-bit weights beside float inputs in a .tflite file stay quantized.
    Devices may then quantize the inputs too and compute on integers, as TensorFlow Lite does; see
    :meth:`Model.permit_dynamic_range`. By default such weights are dequantized.

    Raises OSError if the file cannot be opened. Raises BadDataError if it is not a model, is damaged, or uses
    operations that NNAPI cannot express; the message lists these operations. Raises OutOfMemoryError or OpFailedError
    if the process runs out of memory or of file descriptors.
    """
    return import_cache.load(*_open(source), ImportOptions(shapes or {}, int16_as_float, weights))


def _open(source: Source) -> tuple[Memory, str]:
    if isinstance(source, bytes | bytearray | memoryview):
        return Memory.from_array(np.frombuffer(source, np.uint8)), "model"
    try:
        if isinstance(source, str | os.PathLike):
            return Memory.from_file(source), os.fspath(source)
        return _open_file(source)
    except OSError as error:
        if error.errno in (EMFILE, ENFILE):  # the process has too many open files: the file is not at fault
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
    except OSError:  # an object without a descriptor or without a position
        stat = None
    if stat is None or not S_ISREG(stat.st_mode):
        return Memory.from_array(np.frombuffer(file.read(), np.uint8)), name
    return Memory.from_fd(max(stat.st_size - position, 0), PROT_READ, file.fileno(), position), name
