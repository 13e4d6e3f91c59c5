"""``nnapi cache``: what compilations have kept in a directory, and making room there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from nnapi.cli.failure import Mistake
from nnapi.cli.text import console, print_json, size, table
from nnapi.runtime.costs.cost_tables import default_directory
from nnapi.runtime.store.compilation_cache import LIMIT, Entry, entries
from nnapi.runtime.store.compilation_cache import prune as remove

app = typer.Typer(
    help="See and prune what compilations have kept (`Compilation.set_caching`) in a directory.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmg]?)b?", re.IGNORECASE)

DEFAULT = {
    "costs.json": "what operations were measured to cost on this machine",
    "plans.json": "which plans of models were measured to be fastest",
    "models": "what files of models hold, so that they need not be read to be compiled from a cache",
}
"""What the default directory holds, for people."""

Directory = Annotated[Path, typer.Argument(metavar="DIRECTORY", help="A cache directory.", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command(name="list")
def show(
    directory: Annotated[
        Path | None, typer.Argument(metavar="[DIRECTORY]", help="A cache directory.", show_default=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """List the entries, the one used longest ago first: size, last use, model, device and its driver's version.

    Without a directory it is the default one (NNAPI_CACHE_DIR, or nnapi in the user's cache directory): what
    compilations keep of this machine and its models there.
    """
    if directory is None:
        _show_default(Path(default_directory()), as_json)
        return
    found = list(entries(_existing(directory)))
    if as_json:
        print_json([_data(entry) for entry in found])
        return
    out = console()
    if found:
        out.print(_rows(found))
    out.print(_total(found), markup=False)


def _show_default(directory: Path, as_json: bool) -> None:
    """The default directory: what is kept without being asked for, and entries, if it was also given as a cache."""
    kept = [(directory / name, words, _size(directory / name)) for name, words in DEFAULT.items()]
    found = list(entries(directory)) if directory.is_dir() else []
    if as_json:
        said = [{"file": str(path), "holds": words, "bytes": nbytes} for path, words, nbytes in kept if nbytes]
        print_json({"directory": str(directory), "kept": said, "entries": [_data(entry) for entry in found]})
        return
    out = console()
    out.print(Text(str(directory)), soft_wrap=True)
    rows = table("file", "size", "holds", right=["size"])
    for path, words, nbytes in kept:
        if nbytes:
            rows.add_row(Text(path.name), size(nbytes), Text(words))
    out.print(rows if rows.row_count else "  nothing is kept yet")
    if found:
        out.print(_rows(found))
        out.print(_total(found), markup=False)


def _size(path: Path) -> int:
    """Bytes of a file, or of the files in a folder; 0 where there is none."""
    try:
        return sum(each.stat().st_size for each in path.iterdir()) if path.is_dir() else path.stat().st_size
    except OSError:
        return 0


def _rows(found: Sequence[Entry]) -> Table:
    rows = table("used", "size", "model", "device", "version", "file", right=["size"])
    for entry in found:
        rows.add_row(*map(Text, _row(entry)))
    return rows


@app.command()
def prune(
    directory: Directory,
    limit: Annotated[str, typer.Option(help="What may stay, as 500MB or 2GB; 0 removes everything.")] = f"{LIMIT}",
    as_json: Json = False,
) -> None:
    """Remove the entries used longest ago, and whatever is damaged, until the rest takes at most --limit."""
    removed = remove(_existing(directory), parse_size(limit))
    left = list(entries(directory))
    if as_json:
        print_json({"removed": [_data(entry) for entry in removed], "left": [_data(entry) for entry in left]})
    else:
        console().print(f"removed {_total(removed)}; {_total(left)} left", markup=False)


def parse_size(text: str) -> int:
    """Bytes: ``0``, ``500MB``, ``1.5 GB``; a Mistake for anything else."""
    match = SIZE.fullmatch(text.strip())
    if match is None:
        raise Mistake(f"{text!r} is no size; write 500MB, 2GB or a number of bytes")
    return int(float(match[1]) * UNITS[match[2].lower()])


def _existing(directory: Path) -> Path:
    if not directory.is_dir():
        raise Mistake(f"{directory} is no directory")
    return directory


def _total(found: Sequence[Entry]) -> str:
    count = "1 entry" if len(found) == 1 else f"{len(found)} entries"
    return f"{count}, {size(sum(entry.size for entry in found))}"


def _row(entry: Entry) -> tuple[str, ...]:
    used = datetime.fromtimestamp(entry.used).strftime("%Y-%m-%d %H:%M")
    label = entry.label
    who = (label.model, label.device, label.version) if label else ("(damaged)", "", "")
    return (used, size(entry.size), *who, entry.path.name)


def _data(entry: Entry) -> dict[str, Any]:
    label = entry.label
    return {
        "file": str(entry.path),
        "bytes": entry.size,
        "used": entry.used,
        "model": label.model if label else None,
        "device": label.device if label else None,
        "version": label.version if label else None,
        "created": label.created if label else None,
    }
