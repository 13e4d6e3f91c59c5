"""OpenVINO and ONNX Runtime without what tells their makers of their use.

Importing OpenVINO starts its converter, which sends an event over the network and keeps an identity and a count of uses
in the home directory. The converter goes on quietly where the package that does this is missing; so it is, for the
moment of the import. A program that has imported OpenVINO itself has had that done already.

ONNX Runtime uploads events from a thread of its own, and keeps an identity in the user's cache directory, unless the
environment forbids it when it is first imported.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

PACKAGE = "openvino_telemetry"


def import_openvino(module: str = "openvino") -> Any:
    """A module of OpenVINO, imported so that it reports nothing; ModuleNotFoundError where it is not installed."""
    with _hide(PACKAGE):
        return import_module(module)


def import_onnxruntime() -> Any:
    """ONNX Runtime, imported so that it reports nothing, unless the environment says that it may."""
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    return import_module("onnxruntime")


@contextmanager
def _hide(package: str) -> Iterator[None]:
    """Have imports of a package fail, as if it were not installed. What was imported of it before comes back."""
    known: dict[str, ModuleType | None] = {
        name: module for name, module in list(sys.modules.items()) if name.partition(".")[0] == package
    }
    for name in known:
        del sys.modules[name]
    sys.modules[package] = None  # type: ignore[assignment]  # Python's mark of a module that must not be imported
    try:
        yield
    finally:
        del sys.modules[package]
        sys.modules.update(known)  # type: ignore[arg-type]
