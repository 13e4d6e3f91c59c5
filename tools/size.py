"""Print the lines of each package, and the files over 400 lines and functions over 60 lines, longest first.

    python -m tools.size [COMMIT]

The second column is the difference to COMMIT, by default the commit at which the branch left main.
"""

import ast
import io
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
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


def count_lines(root: Path = REPOSITORY) -> dict[str, int]:
    """Return the lines of each source file, named by its path from the root."""
    return {path.relative_to(root).as_posix(): len(path.read_text().splitlines()) for path in sources(root)}


def count_lines_at(commit: str, root: Path = REPOSITORY) -> dict[str, int]:
    """Return the lines of each source file at a commit."""
    names = _git(root, "ls-tree", "-r", "-z", "--name-only", commit, *FOLDERS).decode().split("\0")
    chosen = [name for name in names if name.endswith(SUFFIXES)]
    archive = _git(root, "archive", commit, "--", *chosen) if chosen else b""
    if not archive:
        return {}
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        found = {name: files.extractfile(name) for name in chosen}
        return {name: len(file.read().decode().splitlines()) for name, file in found.items() if file}


def find_start(root: Path = REPOSITORY) -> str | None:
    """Return the commit at which the branch left main; None outside of a git repository with this branch."""
    try:
        return _git(root, "merge-base", "HEAD", "main").decode().strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def _git(root: Path, *words: str) -> bytes:
    return subprocess.run(["git", "-C", str(root), *words], capture_output=True, check=True).stdout


def package_of(name: str) -> str:
    """Return the package of a file in src/nnapi, or of a driver there; the top folder of other files."""
    parts = PurePosixPath(name).parts[:-1]
    if parts[:2] != ("src", "nnapi"):
        return parts[0]
    return "/".join(parts[: 4 if parts[2:3] == ("drivers",) else 3])


def tabulate(now: Mapping[str, int], before: Mapping[str, int] | None) -> Iterator[str]:
    """Yield a line for each package: its lines, their difference, its files, and its name; then src, then the sum."""
    packages = {name: package_of(name) for name in {*now, *(before or {})}}
    rows = [(package, {name for name in packages if packages[name] == package}) for package in {*packages.values()}]
    whole = {name for name in packages if name.startswith("src/")}
    for title, names in [*sorted(rows), ("src, in all", whole), ("in all", {*packages})]:
        lines, files = sum(now.get(name, 0) for name in names), len(names & now.keys())
        change = "" if before is None else f"{lines - sum(before.get(name, 0) for name in names):+}"
        yield f"{lines:7} {change.replace('+0', ''):>7} {files:5}  {title}"


def main(arguments: Sequence[str]) -> None:
    commit = arguments[0] if arguments else find_start()
    try:
        before = count_lines_at(commit) if commit else None
    except subprocess.CalledProcessError as error:
        sys.exit(f"{commit}: {error.stderr.decode().strip()}")
    print(f"{'lines':>7} {commit[:7] if commit else '':>7} {'files':>5}  package")
    print(*tabulate(count_lines(), before), sep="\n")
    for title, found in (
        (f"files over {FILE_LIMIT} lines", long_files()),
        (f"functions over {FUNCTION_LIMIT} lines", long_functions()),
    ):
        print(f"\n{title}: {len(found) or 'none'}")
        for size in found:
            print(f"{size.lines:6}  {size.name}")


if __name__ == "__main__":
    main(sys.argv[1:])
