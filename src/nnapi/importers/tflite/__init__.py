"""TensorFlow Lite models: FlatBuffers whose operations map to those of NNAPI, most of them one to one."""

from __future__ import annotations

import os

from nnapi.importers.tflite.convert import Import
from nnapi.importers.tflite.reader import File
from nnapi.model.memory import Memory
from nnapi.model.model import Model


def read(memory: Memory, path: str) -> Model:
    """The model in a mapped .tflite file; its constants are views of the mapping.

    Raises UnsupportedOperationsError listing the operations that NNAPI cannot express, BadDataError for a damaged file.
    """
    return Import(File(memory.view().data.toreadonly()), os.path.basename(path)).model()
