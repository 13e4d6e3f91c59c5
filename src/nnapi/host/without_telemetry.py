"""Import OpenVINO and ONNX Runtime without their telemetry, and OpenVINO without its converter.

At import, OpenVINO's converter sends an event and stores an identity in the home directory, unless its telemetry
package is missing. So that package is hidden during the import. A thread of ONNX Runtime uploads events and stores an
identity in the user's cache, unless the environment forbids it at the first import.

The converter is more than half of OpenVINO's import: 0.09 of 0.17 s of processor time, and 14 MB. It is imported when a
program asks for it.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

from nnapi.exits import note_preparation

TELEMETRY, CONVERTER = "openvino_telemetry", "openvino.tools.ovc"


def import_openvino(module: str = "openvino") -> Any:
    """Import a module of OpenVINO; raise ModuleNotFoundError if it is not installed."""
    is_first = "openvino" not in sys.modules
    with _hide(TELEMETRY, *[CONVERTER] * is_first):
        imported = import_module(module)
    if is_first:
        vars(sys.modules["openvino"]).setdefault("__getattr__", _find_converter)
    note_preparation()
    return imported


def _find_converter(name: str) -> Any:
    """Import the converter for a program that uses ``openvino.convert_model``, as ``openvino`` itself would have."""
    missing = AttributeError(f"module 'openvino' has no attribute {name!r}")
    if name != "convert_model":
        raise missing
    try:
        with _hide(TELEMETRY):
            converter = import_module(CONVERTER)
    except ImportError as error:  # a build of OpenVINO without tools
        raise missing from error
    found = sys.modules["openvino"].convert_model = converter.convert_model  # type: ignore[attr-defined]
    return found


def import_onnxruntime() -> Any:
    """Import ONNX Runtime without telemetry, unless the environment asks for it."""
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    return import_module("onnxruntime")


@contextmanager
def _hide(*hidden: str) -> Iterator[None]:
    """Make imports of modules fail in the ``with`` block; then restore those that were imported."""
    known: dict[str, ModuleType | None] = {
        name: module
        for name, module in list(sys.modules.items())
        if f"{name}.".startswith(tuple(f"{each}." for each in hidden))
    }
    for name in known:
        del sys.modules[name]
    for each in hidden:
        sys.modules[each] = None  # type: ignore[assignment]  # Python's mark of a module that must not be imported
    try:
        yield
    finally:
        for each in hidden:
            del sys.modules[each]
        sys.modules.update(known)  # type: ignore[arg-type]
