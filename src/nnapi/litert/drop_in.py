"""Run an unchanged Python program for LiteRT on NNAPI devices, with this package's Interpreter and CompiledModel."""

import sys
from argparse import ArgumentParser
from collections.abc import Mapping
from functools import cache
from typing import Any

from nnapi import litert
from nnapi.litert.delegates import split_names


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("--devices", metavar="A,B", help="keep to these devices")
    parser.add_argument("--no-fallback", action="store_true", help="refuse what NNAPI cannot express")
    parser.add_argument("--explain", action="store_true", help="report on stderr where each model runs")


def find_names(module: str, *, explain: bool, **options: Any) -> Mapping[str, object]:
    """Return the names that replace those of a LiteRT module, with the options of :func:`add_options`."""
    if module.endswith("compiled_model"):
        return {"CompiledModel": _make_compiled_model(explain, **options)}
    ours = {name: getattr(litert, name) for name in litert.__all__}
    return ours | {"Interpreter": _make_interpreter(explain, **options)}


@cache
def _make_interpreter(explain: bool, **options: Any) -> type:
    class Interpreter(litert.Interpreter):
        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(*arguments, **_choose(**options) | named)

        def allocate_tensors(self) -> None:
            super().allocate_tensors()
            if explain:
                print(self.explain(), file=sys.stderr)

    return Interpreter


@cache
def _make_compiled_model(explain: bool, **options: Any) -> type:
    class CompiledModel(litert.CompiledModel):
        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(*arguments, **_choose(**options) | named)
            if explain:
                print(self.explain(), file=sys.stderr)

    return CompiledModel


def _choose(devices: str | None, *, no_fallback: bool) -> dict[str, Any]:
    return {"devices": split_names(devices) if devices else None, "fallback": not no_fallback}
