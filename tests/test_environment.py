"""docs/environment.md names every variable that the source reads, and every file of the system or of the cache."""

import ast
import re
from collections.abc import Iterator
from functools import cache

from nnapi.store.directories import RecordKind
from tests.source_text import walk
from tools import size

PAGE = (size.REPOSITORY / "docs" / "environment.md").read_text()
SOURCES = sorted((size.REPOSITORY / "src").rglob("*.py"))
NAME = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*")
OURS = re.compile(r"(NNAPI|DEBUG_NN|ANDROID|XDG)_[A-Z_]+")
SYSTEM = re.compile(r"/(proc|sys|dev|etc|tmp|var)/\S+")
NO_VARIABLES = {"ANDROID_LOG"}
"""Words of that form that mean something else."""


def texts(node: ast.AST) -> Iterator[str]:
    for part in walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value


@cache
def strings() -> frozenset[str]:
    """The strings of those files that may name a variable of ours or a file of the system."""
    likely = re.compile(rf"{OURS.pattern}|{SYSTEM.pattern}")
    sources = filter(likely.search, (path.read_text() for path in SOURCES))
    return frozenset(text for source in sources for text in texts(ast.parse(source)))


def variables() -> set[str]:
    """Names that stand where something is taken from the environment, or that look like ours anywhere."""
    found = set(filter(OURS.fullmatch, strings()))
    for path in SOURCES:
        if "environ" in (source := path.read_text()):
            for node in walk(ast.parse(source)):
                if isinstance(node, ast.Call | ast.Subscript | ast.Compare) and "environ" in ast.unparse(node):
                    found |= {text for text in texts(node) if NAME.fullmatch(text)}
    for path in (size.REPOSITORY / "native").glob("*.c"):
        found |= set(re.findall(r'getenv\("(\w+)"\)', path.read_text()))
    return found - NO_VARIABLES


def described() -> set[str]:
    """Return the first column of the page's table of variables."""
    rows = PAGE.partition("## Files")[0].splitlines()
    return {name for row in rows if row.startswith("| `") for name in re.findall(r"`(\w+)`", row.split("|")[1])}


def test_every_variable_has_its_row() -> None:
    found = variables()
    assert {"NNAPI_CACHE_DIR", "NNAPI_PYTHON", "XDG_CACHE_HOME", "DEBUG_NN_CPUONLY"} <= found
    missing = {name for name in found if f"`{name}`" not in PAGE}
    assert not missing, "docs/environment.md does not name them"


def test_every_row_has_its_variable() -> None:
    written = "".join(path.read_text() for path in [*SOURCES, *(size.REPOSITORY / "native").glob("*.c")])
    assert {name for name in described() if f'"{name}"' not in written} == set()


def test_files_of_the_system_are_named() -> None:
    found = {text.rstrip("/") for text in strings() if SYSTEM.fullmatch(text)}
    assert "/proc/cpuinfo" in found
    assert {name for name in found if f"`{name}`" not in PAGE} == set()


def test_files_that_are_kept_by_default_are_named() -> None:
    assert {kind for kind in RecordKind if f"`CACHE/{kind}/" not in PAGE} == set()
    elsewhere = {"store/directories.py", "cli/cache.py"}
    used = {path for path in SOURCES if "default_directory(" in path.read_text()}
    assert used == {size.REPOSITORY / "src" / "nnapi" / name for name in elsewhere}
