"""The classes that run conformance examples: the runtime's own, or those of another module with the same names, such as
the client that calls the C library."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from nnapi.model.memory import Memory
from nnapi.model.model import Model
from nnapi.runtime.compilation import Compilation
from nnapi.runtime.execution import Execution
from nnapi.runtime.memory import MemoryDesc, copy_memory

__all__ = ["HERE", "Compilation", "Execution", "Memory", "MemoryDesc", "Model", "copy_memory", "runtime"]

HERE = __name__


def runtime(name: str) -> Any:
    """Return the module of that name."""
    return import_module(name)
