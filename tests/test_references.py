"""Docstrings, ARCHITECTURE.md and CONTRIBUTING.md refer to names and files that exist."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from tests.source_text import ROOT, read_source
from tools import size

FOREIGN = {
    "BuiltinOptions",
    "BuiltinOptions2",
    "LR_PE",
    "_getDevice",
    "charts.svg.jinja",
    "digits_quant.tflite",
    "i8mm",
    "input0",
    "input_0",
    "input_1",
    "libxnnpack_delegate.so",
    "mapPartitions",
    "map_batches",
    "output0",
    "output1",
    "torch_dynamo_backends",
    "x_1",
    "x_2",
}
"""Names of other projects, of this one's data, and of machines."""
OF_C = re.compile(r"(SL_)?ANeuralNetworks\w*|await")
ROLE = re.compile(r":(?:func|class|meth|data|attr):`~?([\w.]+)`")
LITERAL = re.compile(r"``([A-Za-z_][\w.]*)(?:\(\))?``")
FILE = re.compile(r"`([\w./*-]+(?:/[\w.*-]+)+/?|\w+\.(?:py|md|txt|toml|c|h))(?:[.:][A-Za-z_]+)?`")
FOLDERS = ("", "src/nnapi/", "src/nnapi/runtime/", "src/nnapi/drivers/", "src/nnapi/drivers/xnnpack/", "tests/")
PATTERNS = re.compile(r"NAME|FAMILY|MODULE|PACKAGE|MODEL|NeuralNetworks\.h|bin/python|ci/run|site/|\.\./|\*")


@cache
def files() -> set[str]:
    return {path.name for path in size.sources()}


def find_stale(text: str) -> list[str]:
    """Return the references of a docstring to names that the code does not have."""
    source = read_source()
    roles = [name for name in ROLE.findall(text) if not source.defined.issuperset(name.strip(".").split("."))]
    literals = [name for name in LITERAL.findall(text) if not source.used.issuperset(filter(None, name.split(".")))]
    return [name for name in roles + literals if name not in FOREIGN and not OF_C.fullmatch(name)]


def test_docstrings_name_what_exists() -> None:
    found = [f"{file}:{line}: {name}" for file, line, text in read_source().docstrings for name in find_stale(text)]
    assert not found, "\n".join(found)


def test_a_stale_reference_is_found() -> None:
    assert find_stale("As :func:`of_no_module`, with ``Vanished.method`` and ``Model.finish``.") == [
        "of_no_module",
        "Vanished.method",
    ]


def exists(name: str) -> bool:
    if "/" not in name and name in files():
        return True
    candidates = [ROOT / folder / name for folder in FOLDERS]
    return any(path.exists() or path.with_name(f"{path.name}.py").exists() or _has(path) for path in candidates)


def _has(path: Path) -> bool:
    """Whether the path is a module and a name in it, such as ``xnnpack/compile.PASSES``."""
    module = path.with_suffix(".py")
    return module.exists() and path.suffix[1:] in module.read_text()


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_pages_name_files_that_exist(page: str) -> None:
    named = [name for name in FILE.findall((ROOT / page).read_text()) if not PATTERNS.search(name)]
    assert named
    assert [name for name in named if not exists(name)] == []
