"""``nnapi cache``: list and prune the caches on disk."""

import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from nnapi.cli.command import Command
from nnapi.cli.options import Json
from nnapi.cli.printing import console, print_json, table
from nnapi.errors import Mistake
from nnapi.printable import format_bytes, pluralize
from nnapi.runtime.cache.compilation_cache import LIMIT
from nnapi.store.directories import HOLDS, default_directory, directory_of
from nnapi.store.entry import Entry, Label, list_entries
from nnapi.store.entry import prune as remove

app = typer.Typer(help="List and prune the caches on disk.", rich_markup_mode="markdown")

COMPILATIONS = "compilations"
SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmg]?)(i?)b?", re.IGNORECASE)

Directory = Annotated[Path | None, typer.Argument(metavar="[DIRECTORY]", help="A cache directory.", show_default=False)]
Found = Sequence[tuple[str, Entry]]


@app.callback(invoke_without_command=True)
def cache(context: typer.Context) -> None:
    """List and prune the caches on disk. Without a subcommand, list the caches of this machine and of models."""
    if context.invoked_subcommand is None:
        show()


@app.command(name="list", cls=Command)
def show(directory: Directory = None, as_json: Json = False) -> None:
    """List the entries of the cache, least recently used first: size, last use, model, device and its driver's version.

    By default, list the cache in NNAPI_CACHE_DIR, or in nnapi in the user's cache directory. It holds measured costs of
    devices, measured plans, known model files, and compilations if it was also given as a compilation's cache.
    """
    found = _find(directory)
    if as_json:
        print_json("cache", {"entries": [_as_data(holds, entry) for holds, entry in found]})
        return
    out = console()
    if directory is None:
        out.print(Text(default_directory()), soft_wrap=True)
    if found:
        rows = (map(Text, _as_row(holds, entry)) for holds, entry in found)
        out.print(table("used", "size", "holds", "model", "device", "version", "file", rows=rows, right=["size"]))
    out.print(_sum_up(found), markup=False)


@app.command(cls=Command)
def prune(
    directory: Directory = None,
    limit: Annotated[
        str,
        typer.Option(
            help="Remove entries until the caches have this size, such as 500MB or 2GB; 0 removes everything."
        ),
    ] = f"{LIMIT >> 30}GiB",
    as_json: Json = False,
) -> None:
    """Remove damaged entries, and the least recently used ones until the rest takes at most --limit.

    Without a directory, prune each folder of the default cache to this limit.
    """
    most = parse_size(limit)
    removed = [(holds, entry) for holds, folder in _find_folders(directory).items() for entry in remove(folder, most)]
    left = _find(directory)
    if as_json:
        found = {"removed": removed, "left": left}
        print_json("cache-prune", {name: [_as_data(*each) for each in some] for name, some in found.items()})
    else:
        console().print(f"removed {_sum_up(removed)}; {_sum_up(left)} left", markup=False)


def _find_folders(directory: Path | None) -> dict[str, str | Path]:
    if directory is None:
        folders = {str(kind): directory_of(kind) for kind in HOLDS} | {COMPILATIONS: default_directory()}
        return {name: folder for name, folder in folders.items() if Path(folder).is_dir()}
    if not directory.is_dir():
        raise Mistake(f"{directory} is not a directory")
    return {COMPILATIONS: directory}


def _find(directory: Path | None) -> Found:
    folders = _find_folders(directory)
    return [(holds, entry) for holds, folder in folders.items() for entry in list_entries(folder)]


def parse_size(text: str) -> int:
    """Return the number of bytes in ``0``, ``500MB``, ``1.5 GB`` or ``1GiB``; Mistake for anything else."""
    match = SIZE.fullmatch(text.strip())
    if match is None:
        raise Mistake(f"{text!r} is not a size; write 500MB, 2GB or a number of bytes")
    return int(float(match[1]) * (1024 if match[3] else 1000) ** " kmg".index(match[2].lower() or " "))


def _sum_up(found: Found) -> str:
    return f"{pluralize(len(found), 'entry')}, {format_bytes(sum(entry.size for _, entry in found))}"


def _as_row(holds: str, entry: Entry) -> tuple[str, ...]:
    used = datetime.fromtimestamp(entry.used).strftime("%Y-%m-%d %H:%M")
    label = entry.label
    who = (label.model, label.device, label.version) if label else ("(damaged)", "", "")
    return (used, format_bytes(entry.size), holds, *who, Path(entry.path).name)


def _as_data(holds: str, entry: Entry) -> dict[str, Any]:
    label = entry.label._asdict() if entry.label else dict.fromkeys(Label._fields)
    return {"file": entry.path, "bytes": entry.size, "used": entry.used, "holds": holds, **label}
