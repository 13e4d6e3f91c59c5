"""The runtime's classes that run conformance examples. Another module with these names can be used instead."""

from nnapi.model.memory import Memory
from nnapi.model.model import Model
from nnapi.runtime.compilation import Compilation
from nnapi.runtime.execution import Execution
from nnapi.runtime.memory import MemoryDesc, copy_memory

__all__ = ["HERE", "Compilation", "Execution", "Memory", "MemoryDesc", "Model", "copy_memory"]

HERE = __name__
