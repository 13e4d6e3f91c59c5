"""Standard output and error, whatever the caller has made of them."""

from __future__ import annotations

import io
import os
import sys

from nnapi.cli.failure import fail


def prepare() -> None:
    """Let characters that the locale lacks, and names that are no text, be printed with question marks in their place.

    Without a standard output the process ends: the first file that is opened would become it. Nobody misses messages.
    """
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  (open for as long as the process lives)
    if sys.stdout is None or sys.stdout.closed:
        sys.exit(fail("standard output is closed", 1))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
