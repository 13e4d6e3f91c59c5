"""NNAPI_TRACE=FILE: one trace of a process. ``%p`` in FILE is its number; without it forked children write none."""

from __future__ import annotations

import atexit
import os
import sys
from pathlib import Path

from nnapi.errors import BadDataError
from nnapi.report.trace_files import need_format, write_trace
from nnapi.trace import spans

PROCESS = "%p"


def record_process(name: str) -> None:
    """Begin to record, and write the file at exit. A mistake in its name is printed on stderr."""
    try:
        need_format(Path(name))
    except BadDataError as error:
        _warn(str(error))
        return
    recorder, starter = spans.start(), os.getpid()

    def write() -> None:
        process = os.getpid()
        found = recorder if process == starter else spans.current()
        if found is not None and (process == starter or PROCESS in name):
            file = Path(name.replace(PROCESS, str(process)))
            try:
                write_trace(file, found.spans(), f"{_program()}, process {process}")
            except OSError as error:
                _warn(f"{file} not written: {error}")

    atexit.register(write)


def _program() -> str:
    """Return the program's name; inside a C program only the system knows it."""
    try:
        return Path("/proc/self/cmdline").read_bytes().split(b"\0")[0].decode(errors="replace").rpartition("/")[2]
    except OSError:
        return Path(sys.executable).name


def _warn(reason: str) -> None:
    if os.environ.get("NNAPI_QUIET", "0") in ("", "0"):
        print(f"nnapi: NNAPI_TRACE: {reason}", file=sys.stderr, flush=True)


if NAME := os.environ.get("NNAPI_TRACE"):
    record_process(NAME)
