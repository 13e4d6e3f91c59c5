"""Print tables and values."""

import json
import math
import os
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

import rich.console
import rich.table
from rich.padding import Padding
from rich.text import Text

from nnapi.printable import CONTROLS_BUT_LINES, printable, shorten_lines
from nnapi.store.files import write_text

WIDE = 200
"""The width in columns without a terminal, where lines must not wrap."""
VERSION = 1
"""Version of the keys of `--json`. It rises if a key is removed or changes its meaning, not for a new key."""


class Console(rich.console.Console):
    """A console that escapes control characters, which may come from files."""

    def print(self, *objects: Any, **options: Any) -> None:
        super().print(*map(_printable, objects), **options)


class Table(rich.table.Table):
    """A table that escapes control characters; each cell is one line."""

    def add_row(self, *cells: Any, **options: Any) -> None:
        super().add_row(*(_printable(cell, keeps_lines=False) for cell in cells), **options)


def _printable(shown: Any, keeps_lines: bool = True) -> Any:
    text = shown.plain if isinstance(shown, Text) else shown
    if not isinstance(text, str):
        return shown
    safe = printable(shorten_lines(text), keeps_lines=keeps_lines)
    if isinstance(shown, str):
        return safe
    return shown if safe == shown.plain else Text(safe, shown.style)


def console() -> Console:
    wide = None if sys.stdout.isatty() or "COLUMNS" in os.environ else WIDE
    return Console(highlight=False, soft_wrap=False, width=wide)


def print_json(command: str, value: Mapping[str, Any]) -> None:
    """Print JSON as `to_json` makes it. Text that standard output cannot encode is escaped."""
    print(to_json(command, value, sys.stdout.encoding or "ascii"), end="")


def write_json(file: Path, command: str, value: Mapping[str, Any]) -> None:
    write_text(file, to_json(command, value))


def to_json(command: str, value: Mapping[str, Any], encoding: str = "utf-8") -> str:
    """Return JSON with the command and the format's version. Infinities and NaN become null; control characters are
    escaped."""
    described = {"format": f"nnapi-{command}", "version": VERSION, **replace_infinite(value)}
    text = dump_json(described, encoding, indent=2)
    return CONTROLS_BUT_LINES.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n"


def dump_json(value: Any, encoding: str = "utf-8", indent: int | None = None) -> str:
    """Return JSON, in ASCII if it has text that the encoding lacks, such as a file name of arbitrary bytes."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return json.dumps(value, indent=indent)
    return text


def replace_infinite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: replace_infinite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [replace_infinite(item) for item in value]
    return value


def table(
    *headings: str, rows: Iterable[Iterable[Any]] = (), right: Iterable[str] = (), has_header: bool = True
) -> Table:
    """Return a table without a frame; ``right`` lists the columns that are aligned to the right."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim", show_header=has_header)
    numbers = set(right)
    for heading in headings:
        made.add_column(heading, justify="right" if heading in numbers else "left", overflow="fold")
    for row in rows:
        made.add_row(*row)
    return made


def count_table(heading: str, counts: Mapping[str, Counter[Any]], kinds: Iterable[StrEnum]) -> Table:
    kinds = list(kinds)
    rows = table(heading, "total", *kinds, right=["total", *kinds])
    for name, count in counts.items():
        style = "red" if count["failed"] else ""
        rows.add_row(name, str(count.total()), *(str(count[kind] or "") for kind in kinds), style=style)
    return rows


def indent(rows: rich.table.Table) -> Padding:
    return Padding(rows, (0, 0, 0, 2), expand=False)


def duration(seconds: float) -> str:
    """Format seconds: ``0.213 ms``, ``152 ms``, ``2.31 s``."""
    return f"{1000 * seconds:.3g} ms" if seconds < 0.9995 else f"{seconds:.3g} s"
