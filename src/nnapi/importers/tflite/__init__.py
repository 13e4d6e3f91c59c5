"""TensorFlow Lite models."""

import os

from nnapi.garbage_collection import pause_collecting
from nnapi.importers.input_shapes import Shapes
from nnapi.importers.refusals import UnsupportedOperationsError
from nnapi.importers.tflite.dynamic_import import make_dynamic, read_with_shapes
from nnapi.model.memory import Memory
from nnapi.model.model import Model


@pause_collecting()
def read(
    memory: Memory,
    path: str,
    shapes: Shapes | None = None,
    *,
    int16_as_float: bool = False,
    dynamic_range: bool = False,
) -> Model:
    """Import the model in a mapped .tflite file; its constants are views of the mapping.

    ``shapes`` sets dynamic dimensions of inputs, by name. ``int16_as_float``: 16-bit quantized tensors become float32.
    ``dynamic_range``: weights of float operations stay quantized. Return a DynamicModel if operations depend on dynamic
    dimensions that remain. Raise UnsupportedOperationsError with the refused operations, BadDataError for a damaged
    file.
    """
    content, name, given = memory.view().data.toreadonly(), os.path.basename(path), shapes or {}
    options = {"int16_as_float": int16_as_float, "dynamic_range": dynamic_range}
    try:
        return read_with_shapes(content, name, given, options)
    except UnsupportedOperationsError as error:
        return make_dynamic(content, name, given, options, error)
