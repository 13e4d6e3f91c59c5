"""Print files over 400 lines and functions over 60 lines, longest first."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).resolve().parent.parent
FOLDERS = ("src", "native", "tools", "tests", "examples", "benchmarks")
SUFFIXES = (".py", ".c", ".h")
FILE_LIMIT = 400
FUNCTION_LIMIT = 60


class Long(NamedTuple):
    lines: int
    name: str


def sources(root: Path = REPOSITORY) -> list[Path]:
    """Return every source file of the project, sorted."""
    found = (path for folder in FOLDERS for path in (root / folder).rglob("*") if path.suffix in SUFFIXES)
    return sorted(path for path in found if path.is_file())


def long_files(root: Path = REPOSITORY, limit: int = FILE_LIMIT) -> list[Long]:
    """Return files of more than `limit` lines, named by their path from the root."""
    sizes = (Long(len(path.read_text().splitlines()), path.relative_to(root).as_posix()) for path in sources(root))
    return sorted((size for size in sizes if size.lines > limit), reverse=True)


def long_functions(root: Path = REPOSITORY, limit: int = FUNCTION_LIMIT) -> list[Long]:
    """Return Python functions of more than `limit` lines, without decorators, named `path:line name`."""
    return sorted((size for size in _functions(root) if size.lines > limit), reverse=True)


def _functions(root: Path) -> Iterator[Long]:
    for path in sources(root):
        if path.suffix != ".py":
            continue
        for node in ast.walk(ast.parse(path.read_text(), path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                yield Long(lines, f"{path.relative_to(root).as_posix()}:{node.lineno} {node.name}")


def main() -> None:
    paths = sources()
    lines = sum(len(path.read_text().splitlines()) for path in paths)
    print(f"{lines} lines in {len(paths)} files")
    for title, found in (
        (f"files over {FILE_LIMIT} lines", long_files()),
        (f"functions over {FUNCTION_LIMIT} lines", long_functions()),
    ):
        print(f"\n{title}: {len(found) or 'none'}")
        for size in found:
            print(f"{size.lines:6}  {size.name}")


if __name__ == "__main__":
    main()
