"""Docstrings, ARCHITECTURE.md and CONTRIBUTING.md refer to names and files that exist."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.test_words import ROOT, docstrings, parse
from tools import size

FOREIGN = {
    "LR_PE",
    "charts.svg.jinja",
    "i8mm",
    "input_1",
    "libxnnpack_delegate.so",
    "mapPartitions",
    "map_batches",
    "torch_dynamo_backends",
}
"""Names of other projects, of this one's data, and of machines."""
OF_C = re.compile(r"(SL_)?ANeuralNetworks\w*|await")
ROLE = re.compile(r":(?:func|class|meth|data|attr):`~?([\w.]+)`")
LITERAL = re.compile(r"``([A-Za-z_][\w.]*)(?:\(\))?``")
FILE = re.compile(r"`([\w./*-]+(?:/[\w.*-]+)+/?|\w+\.(?:py|md|txt|toml|c|h))(?:[.:][A-Za-z_]+)?`")
FOLDERS = ("", "src/nnapi/", "src/nnapi/runtime/", "src/nnapi/drivers/", "src/nnapi/drivers/xnnpack/", "tests/")
PATTERNS = re.compile(r"NAME|FAMILY|MODULE|PACKAGE|MODEL|NeuralNetworks\.h|bin/python|ci/run|site/|\.\./|\*")


def list_names() -> Iterator[tuple[bool, str]]:
    """Yield the names in the code, and whether each is defined there rather than only used."""
    for path in (path for path in size.sources() if path.suffix == ".py"):
        yield from ((True, part) for part in path.relative_to(ROOT).with_suffix("").parts)
        yield True, path.name
        for node in ast.walk(parse(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield True, node.name
            elif isinstance(node, ast.Name):
                yield isinstance(node.ctx, ast.Store), node.id
            elif isinstance(node, ast.Attribute):
                yield isinstance(node.ctx, ast.Store), node.attr
            elif isinstance(node, ast.arg):
                yield False, node.arg
            elif isinstance(node, ast.alias):
                yield from ((False, part) for part in node.name.split("."))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
                yield False, node.value


@cache
def names() -> tuple[set[str], set[str]]:
    """Return the names that the code defines, and all that it uses."""
    found = set(list_names())
    return {name for is_defined, name in found if is_defined}, {name for _, name in found}


@cache
def files() -> set[str]:
    return {path.name for path in size.sources()}


def find_stale(text: str) -> list[str]:
    """Return the references of a docstring to names that the code does not have."""
    defined, used = names()
    roles = [name for name in ROLE.findall(text) if not defined.issuperset(name.strip(".").split("."))]
    literals = [name for name in LITERAL.findall(text) if not used.issuperset(filter(None, name.split(".")))]
    return [name for name in roles + literals if name not in FOREIGN and not OF_C.fullmatch(name)]


def test_docstrings_name_what_exists() -> None:
    found = [
        f"{file}:{line}: {name}" for file, line, text in docstrings() if "src/" in file for name in find_stale(text)
    ]
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
