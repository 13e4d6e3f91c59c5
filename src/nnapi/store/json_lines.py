"""Files to which lines of JSON are appended; an interrupted line is cut off."""

import os
from collections.abc import Iterable

from nnapi.store.files import name_file, output_file, remove_if_empty


def read_complete_lines(path: str | os.PathLike[str]) -> list[bytes]:
    """Return the lines of a file with their ends, without an interrupted last line; [] if the file is absent."""
    try:
        with open(path, "rb") as file:
            content = file.read()
    except FileNotFoundError:
        return []
    return content[: content.rfind(b"\n") + 1].splitlines(keepends=True)


def replace_lines(path: str | os.PathLike[str], lines: Iterable[bytes]) -> None:
    """Make these lines the content of a file, if they are not; create a missing file."""
    wanted = b"".join(lines)
    try:
        with open(path, "rb") as file:
            is_equal = file.read() == wanted
    except FileNotFoundError:
        is_equal = False
    if not is_equal:
        with output_file(path) as written:
            written.write(wanted)


def append_line(path: str | os.PathLike[str], line: str) -> None:
    """Append a line; after an error, remove a file that is still empty."""
    with name_file(path), remove_if_empty(path), open(path, "ab") as file:
        file.write(line.encode() + b"\n")
