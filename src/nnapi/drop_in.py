"""Run a program with this library's modules instead of those that it imports."""

from __future__ import annotations

import importlib
import os
import runpy
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any


class DropIn(ModuleType):
    """A drop-in replacement of a module: our names, else its own. This library itself gets only the module's own."""

    def __init__(self, name: str, ours: Mapping[str, object]) -> None:
        super().__init__(name)
        self._ours = ours
        self._own: ModuleType | None = None
        with suppress(ImportError):
            self._own = importlib.import_module(name)
        self.__path__ = list(getattr(self._own, "__path__", []))
        self.__spec__ = getattr(self._own, "__spec__", None) or ModuleSpec(name, None, is_package=True)

    def __getattr__(self, name: str) -> object:
        asking = sys._getframe(1).f_globals.get("__name__", "")
        if name in self._ours and asking.partition(".")[0] != "nnapi":
            return self._ours[name]
        if self._own is None:
            raise AttributeError(f"module {self.__name__!r} is replaced by nnapi, which has no {name!r} for it")
        return getattr(self._own, name)


def replace_module(name: str, ours: Mapping[str, object]) -> None:
    """Replace the module ``name``, installed or not, for every later import."""
    parent, _, last = name.rpartition(".")
    module = sys.modules[name] = DropIn(name, ours)
    if parent:
        with suppress(ImportError):
            importlib.import_module(parent)
        if parent not in sys.modules:
            replace_module(parent, {})
        setattr(sys.modules[parent], last, module)


class AfterImport(MetaPathFinder):
    """Patch a module right after its import."""

    def __init__(self, name: str, change: Callable[[ModuleType], None]) -> None:
        self._name, self._change = name, change

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name == self._name else None
        loader: Any = spec.loader if spec else None
        if loader is not None:
            execute = loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                self._change(module)

            loader.exec_module = exec_module
        return spec


def run_program(program: str, arguments: Sequence[str]) -> None:
    """Run a Python program as ``python program arguments…`` does."""
    sys.argv = [program, *arguments]
    sys.path[0] = os.path.dirname(os.path.abspath(program))
    runpy.run_path(program, run_name="__main__")
