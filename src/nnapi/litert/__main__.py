"""``python -m nnapi.litert program.py …``: a program for LiteRT, unchanged, with this library's interpreter."""

from __future__ import annotations

import sys
from argparse import REMAINDER, ArgumentParser
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from nnapi import drop_in, litert

MODULES = "ai_edge_litert.interpreter", "tflite_runtime.interpreter"
INSIDE = "tensorflow.lite.python.interpreter"


def main() -> None:
    parser = ArgumentParser("python -m nnapi.litert", description=__doc__)
    parser.add_argument("--devices", metavar="A,B", help="keep to these devices")
    parser.add_argument("--no-fallback", action="store_true", help="refuse what NNAPI cannot express")
    parser.add_argument("--explain", action="store_true", help="say on stderr where each model runs")
    parser.add_argument("program")
    parser.add_argument("arguments", nargs=REMAINDER)
    options = parser.parse_args()
    asked: dict[str, Any] = {
        "devices": options.devices.split(",") if options.devices else None,
        "fallback": not options.no_fallback,
    }

    class Interpreter(litert.Interpreter):
        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(*arguments, **asked | named)

        def allocate_tensors(self) -> None:
            super().allocate_tensors()
            if options.explain:
                print(self.explain(), file=sys.stderr)

    _replace_modules({name: getattr(litert, name) for name in litert.__all__} | {"Interpreter": Interpreter})
    drop_in.run_program(options.program, options.arguments)


def _replace_modules(ours: dict[str, object]) -> None:
    for name in MODULES:
        drop_in.replace_module(name, ours)
    if find_spec("tensorflow") is None:
        for name in ("tensorflow.lite", INSIDE):
            drop_in.replace_module(name, ours)
        drop_in.replace_module("tensorflow.lite.experimental", {"load_delegate": ours["load_delegate"]})
        return

    def change(tensorflow: ModuleType) -> None:
        tensorflow.lite.Interpreter = ours["Interpreter"]
        tensorflow.lite.experimental.load_delegate = ours["load_delegate"]

    def change_inside(interpreter: ModuleType) -> None:
        vars(interpreter).update(ours)

    for name, changes in (("tensorflow", change), (INSIDE, change_inside)):
        sys.meta_path.insert(0, drop_in.AfterImport(name, changes))


if __name__ == "__main__":
    main()
