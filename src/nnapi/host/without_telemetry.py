"""Import OpenVINO and ONNX Runtime without their telemetry.

At import, OpenVINO's converter sends an event and stores an identity in the home directory, unless its telemetry
package is missing. So that package is hidden during the import. A thread of ONNX Runtime uploads events and stores an
identity in the user's cache, unless the environment forbids it at the first import.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

from nnapi.exits import note_preparation

PACKAGE = "openvino_telemetry"


def import_openvino(module: str = "openvino") -> Any:
    """Import a module of OpenVINO; raise ModuleNotFoundError if it is not installed."""
    with _hide(PACKAGE):
        imported = import_module(module)
    note_preparation()
    return imported


def import_onnxruntime() -> Any:
    """Import ONNX Runtime without telemetry, unless the environment asks for it."""
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    return import_module("onnxruntime")


@contextmanager
def _hide(package: str) -> Iterator[None]:
    """Make imports of a package fail in the ``with`` block; then restore its imported modules."""
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
