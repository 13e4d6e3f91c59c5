"""Standard output and error in any environment."""

from __future__ import annotations

import io
import os
import sys
from typing import Any, TextIO

from nnapi.cli.failure import fail


def prepare() -> None:
    """Print question marks for characters outside the locale's encoding. Exit if standard output is closed: the first
    file opened would replace it."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  (open for as long as the process lives)
    if sys.stdout is None or sys.stdout.closed:
        sys.exit(fail("standard output is closed", 1))
    sys.stdout = _prefix_errors(sys.stdout, "standard output")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


class _Named(io.FileIO):
    """A file whose errors name it."""

    def __init__(self, number: int, words: str) -> None:
        super().__init__(number, "wb", closefd=False)
        self._words = words

    def write(self, data: Any) -> int | None:  # type: ignore[override]  # any buffer, as of the class itself
        try:
            return super().write(data)
        except OSError as error:
            raise OSError(error.errno, error.strerror, self._words) from None


def _prefix_errors(stream: TextIO, words: str) -> TextIO:
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    binary = io.BufferedWriter(_Named(stream.fileno(), words))
    return io.TextIOWrapper(
        binary, stream.encoding, line_buffering=stream.line_buffering, write_through=stream.write_through
    )
