"""Import rules for engines that are not installed: tools that only look at which rules exist need no engine."""

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock

ENGINES = "ai_edge_litert", "onnx", "openvino"


class Absent(ModuleType):
    """A package in which every name exists."""

    __path__: list[str] = []  # noqa: RUF012  # a module's attribute

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = MagicMock(name=f"{self.__name__}.{name}")
        setattr(self, name, value)
        return value


class AbsentFinder(MetaPathFinder, Loader):
    """Finds the packages of engines and their modules; it is asked last, for those that are not installed."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        return ModuleSpec(name, AbsentFinder(), is_package=True) if name.partition(".")[0] in ENGINES else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return Absent(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: names come into being when they are used."""


def import_without_engines() -> None:
    """From now on, importing an engine that is not installed gives an empty package."""
    if any(find_spec(name) is None for name in ENGINES):
        sys.meta_path.append(AbsentFinder())
