"""Run a program, and its child processes, with nnapi's modules instead of those that it imports.

The variable NNAPI_DROPIN holds the text after ``python -m nnapi.``: a name in :data:`PACKAGES` and its options. The
file nnapi.pth beside the installed package calls :func:`start` in each Python process that has the variable.
"""

import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from argparse import ArgumentParser

VARIABLE = "NNAPI_DROPIN"
Names = Mapping[str, object]


class Package(NamedTuple):
    """The modules that a package of nnapi replaces: ``always``, or only if they are not installed."""

    always: tuple[str, ...]
    if_absent: tuple[str, ...] = ()


PACKAGES = {
    "litert": Package(
        (
            *("ai_edge_litert.interpreter", "ai_edge_litert.compiled_model", "tflite_runtime.interpreter"),
            "tensorflow.lite.python.interpreter",  # TensorFlow imports the names of tensorflow.lite from here
        ),
        ("tensorflow.lite", "tensorflow.lite.experimental"),
    ),
    "onnx": Package(("onnxruntime", "onnxruntime.capi.onnxruntime_pybind11_state")),
}


class DropIn(ModuleType):
    """A drop-in replacement of a module: nnapi's names, else the module's own. nnapi itself gets only the latter."""

    def __init__(self, name: str, own: ModuleType | None, find_names: Callable[[], Names]) -> None:
        """``own`` is the replaced module, None if it is not installed. ``find_names`` is called at first use."""
        super().__init__(name)
        self.own, self._find_names = own, cache(find_names)
        self.__path__ = list(getattr(own, "__path__", []))
        self.__spec__ = getattr(own, "__spec__", None) or ModuleSpec(name, None, is_package=True)

    def __getattr__(self, name: str) -> object:
        asking = sys._getframe(1).f_globals.get("__name__", "").partition(".")[0]
        if asking not in ("nnapi", "importlib") and name in self._find_names():  # importlib asks any module
            return self._find_names()[name]
        if name == "__all__":  # for "from … import *", as the module's dictionary is empty
            own = getattr(self.own, name, None) or [each for each in dir(self.own) if not each.startswith("_")]
            return [*dict.fromkeys((*self._find_names(), *own))]
        if self.own is not None:
            return getattr(self.own, name)
        with suppress(ImportError):
            return import_module(f"{self.__name__}.{name}")
        raise AttributeError(f"module {self.__name__!r} is replaced by nnapi, which has no {name!r} for it")


class DropInFinder:
    """Import drop-in replacements, and empty packages for their parents that are not installed."""

    def __init__(self, package: Package, find_names: Callable[[str], Names]) -> None:
        """``find_names`` returns nnapi's names for a module."""
        self._always, self._named, self._find_names = package.always, {*package.always, *package.if_absent}, find_names
        parents = {each[:end] for each in self._named for end, letter in enumerate(each) if letter == "."}
        self._if_absent = {*package.if_absent, *parents}.difference(package.always)
        self._importing: set[str] = set()

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name in self._importing:
            return None
        is_absent = name in self._if_absent and PathFinder.find_spec(name, path) is None
        if not is_absent and name not in self._always:
            return None
        return ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]  # no Loader: importlib.abc takes 8 ms

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        self._importing.add(spec.name)
        own = None
        try:
            with suppress(ImportError):
                own = import_module(spec.name)
        finally:
            self._importing.remove(spec.name)
        return self._replace(spec.name, own)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing, because names are looked up when they are used."""

    def replace_imported(self) -> None:
        """Replace the modules that are already imported."""
        for name in self._always:
            if (module := sys.modules.get(name)) is not None:
                sys.modules[name] = module = self._replace(name, getattr(module, "own", module))
                parent, _, last = name.rpartition(".")
                if parent:
                    setattr(sys.modules[parent], last, module)

    def _replace(self, name: str, own: ModuleType | None) -> DropIn:
        return DropIn(name, own, lambda: self._find_names(name) if name in self._named else {})


def start() -> None:
    """Replace the modules that NNAPI_DROPIN names, in this process. An unknown name is reported on stderr."""
    name, *arguments = shlex.split(os.environ.get(VARIABLE, "")) or [""]
    if name not in PACKAGES:
        print(f"nnapi: {VARIABLE} is {name!r}, must begin with {' or '.join(PACKAGES)}", file=sys.stderr)
        return

    def find_names(module: str) -> Names:
        parser, replacement = _make_parser(name)
        names: Names = replacement.find_names(module, **vars(parser.parse_args(arguments)))
        return names

    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, DropInFinder)]
    finder = DropInFinder(PACKAGES[name], find_names)
    sys.meta_path.insert(0, finder)
    finder.replace_imported()


def main(name: str) -> None:
    """Run the command ``python -m nnapi.NAME``."""
    import runpy

    parser, _ = _make_parser(name)
    parser.add_argument("program")
    parser.add_argument("arguments", nargs="...")
    options = parser.parse_args()
    program = [options.program, *options.arguments]
    os.environ[VARIABLE] = shlex.join([name, *sys.argv[1 : len(sys.argv) - len(program)]])
    start()
    sys.argv = program
    sys.path[0] = os.path.dirname(os.path.abspath(program[0]))
    runpy.run_path(program[0], run_name="__main__")


def _make_parser(name: str) -> "tuple[ArgumentParser, ModuleType]":
    """Return the parser for a package's options, and the module with its names."""
    from argparse import ArgumentParser

    if name == "litert":
        replacement = import_module("nnapi.litert.drop_in")
    else:
        replacement = import_module("nnapi.onnx.drop_in")
    parser = ArgumentParser(f"python -m nnapi.{name}", description=replacement.__doc__)
    replacement.add_options(parser)
    return parser, replacement
