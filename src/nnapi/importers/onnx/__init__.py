"""ONNX models."""

from nnapi.importers.input_shapes import Shapes
from nnapi.importers.onnx.dynamic_import import make_dynamic
from nnapi.importers.onnx.reader import File
from nnapi.importers.onnx.static_import import read_file
from nnapi.importers.refusals import UnsupportedOperationsError
from nnapi.model.memory import Memory
from nnapi.model.model import Model

__all__ = ["read", "read_file"]


def read(memory: Memory, path: str, shapes: Shapes | None = None) -> Model:
    """Read the model in a mapped ONNX file; ``shapes`` sets dynamic dimensions of inputs, by name.

    Return a DynamicModel if operations depend on dynamic dimensions that remain. Raise UnsupportedOperationsError with
    the operators that NNAPI cannot express, BadDataError for a damaged file, OpFailedError without the library onnx.
    """
    file = File(memory, path)
    try:
        return read_file(file, path, shapes)
    except UnsupportedOperationsError as error:
        return make_dynamic(file, path, shapes or {}, error)
