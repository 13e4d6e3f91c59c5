"""The docstrings of the public API describe every parameter."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import nnapi
from tests.rows import each_row

MADE_BY_NNAPI = {"Device", "DeviceMemory", "Outputs", "Result", "Memory"}
"""Classes whose objects functions and other constructors return."""
INTERNAL = {
    "Compilation.need_active",
    "Compilation.need_one_device",
    "Compilation.use",
    "DeviceMemory.check_region",
    "DeviceMemory.need_role",
    "Memory.check_region",
    "Model.add_matched_operation",
    "Model.note_call",
}
"""Methods for other packages of nnapi."""


def list_functions() -> Iterator[tuple[str, Callable[..., Any], str]]:
    """Yield the name, function and docstrings of each public function, constructor and method."""
    for name in nnapi.__all__:
        value = getattr(nnapi, name)
        if inspect.isfunction(value):
            yield name, value, inspect.getdoc(value) or ""
        if not inspect.isclass(value) or issubclass(value, Exception):
            continue
        shared = f"{inspect.getdoc(value)} {inspect.getdoc(value.__init__) if '__init__' in vars(value) else ''}"
        for method, found in vars(value).items():
            function = getattr(found, "__func__", found)
            is_public = not method.startswith("_") or method == "__call__"
            is_constructor = method == "__init__" and name not in MADE_BY_NNAPI
            if inspect.isfunction(function) and (is_public or is_constructor) and f"{name}.{method}" not in INTERNAL:
                yield f"{name}.{method}", function, f"{inspect.getdoc(function)} {shared}"


FUNCTIONS = {name: (function, text) for name, function, text in list_functions()}


@each_row("name", FUNCTIONS)
def test_every_parameter_is_described(name: str) -> None:
    function, text = FUNCTIONS[name]
    parameters = [parameter for parameter in inspect.signature(function).parameters if parameter not in ("self", "cls")]
    assert [each for each in parameters if not re.search(rf"\b{each}\b", text)] == []


def test_internal_methods_exist() -> None:
    classes = {name: getattr(nnapi, name) for name in {*MADE_BY_NNAPI, *(each.partition(".")[0] for each in INTERNAL)}}
    assert all(hasattr(classes[name], method) for name, _, method in (each.partition(".") for each in INTERNAL))
