"""NNAPI_TRACE=FILE: what a process does from its first use of NNAPI until it ends, as one trace.

FILE ends in .html, .json or .txt, as for ``nnapi trace``; ``%p`` in it is replaced by the number of the process, for
programs that start others. Children that a process forks write a trace only where that gives theirs a name of its own.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from nnapi.errors import BadDataError
from nnapi.report.trace_files import need_format, write_trace
from nnapi.trace import spans

PROCESS = "%p"


def record_process(name: str) -> None:
    """Record from now on, and write the file when the process ends.

    Raises BadDataError for a name that says no form of trace, BadStateError where a trace is being recorded already.
    """
    need_format(Path(name))
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
    """What runs; the interpreter inside a program in C does not know its arguments, but the system does."""
    try:
        return Path("/proc/self/cmdline").read_bytes().split(b"\0")[0].decode(errors="replace").rpartition("/")[2]
    except OSError:
        return Path(sys.executable).name


def _warn(reason: str) -> None:
    if os.environ.get("NNAPI_QUIET", "0") in ("", "0"):
        print(f"nnapi: NNAPI_TRACE: {reason}", file=sys.stderr, flush=True)


def from_environment(environment: Mapping[str, str]) -> None:
    """Do what NNAPI_TRACE asks for; a mistake in it is told on stderr, and nothing is recorded."""
    name = environment.get("NNAPI_TRACE")
    if not name:
        return
    try:
        record_process(name)
    except BadDataError as error:
        _warn(str(error))


from_environment(os.environ)
