"""TensorFlow Lite models."""

import os

from nnapi.formats.tflite.reader import File
from nnapi.importers.tflite.subgraph import import_subgraph
from nnapi.model.memory import Memory
from nnapi.model.model import Model


def read(memory: Memory, path: str, *, int16_as_float: bool = False, dynamic_range: bool = False) -> Model:
    """Import the model in a mapped .tflite file; its constants are views of the mapping.

    ``int16_as_float``: 16-bit quantized tensors become float32. ``dynamic_range``: weights of float operations stay
    quantized. Raise UnsupportedOperationsError with the refused operations, BadDataError for a damaged file.
    """
    file = File(memory.view().data.toreadonly())
    name = os.path.basename(path)
    return import_subgraph(file, name, int16_as_float=int16_as_float, dynamic_range=dynamic_range)
