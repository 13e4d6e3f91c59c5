"""Write recordings to files; the suffix selects the format. NNAPI_TRACE=FILE records a whole process.

``%p`` in FILE stands for the process number; without it, forked children write no file.
"""

import atexit
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from nnapi.store.files import write_text
from nnapi.trace import spans
from nnapi.trace.recorder import Span

FORMATS = (".html", ".json", ".txt")
"""Suffixes: Android's systrace in a page, Chrome's trace events, ftrace's text."""
PROCESS = "%p"


def write_trace(file: Path, recorded: Sequence[Span], title: str) -> None:
    """Write the spans in the format that the suffix selects; ``title`` is the heading of a page. Raises OSError."""
    # Writers are imported on demand, because few processes write a trace.
    if file.suffix == ".html":
        from nnapi.report.trace_page import trace_page

        text = trace_page(recorded, title)
    elif file.suffix == ".json":
        from nnapi.trace.chrome import to_json

        text = to_json(recorded)
    else:
        from nnapi.trace.systrace import to_ftrace

        text = to_ftrace(recorded)
    write_text(file, text)


def record_process(name: str) -> None:
    """Begin to record, and write the file at exit. A name with an unknown suffix is reported on stderr."""
    if Path(name).suffix not in FORMATS:
        _warn(f"{Path(name).name} must end in {', '.join(FORMATS)}")
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
    """Return the program's name from the system, which also knows C programs that host Python."""
    try:
        return Path("/proc/self/cmdline").read_bytes().split(b"\0")[0].decode(errors="replace").rpartition("/")[2]
    except OSError:
        return Path(sys.executable).name


def _warn(reason: str) -> None:
    if os.environ.get("NNAPI_QUIET", "0") in ("", "0"):
        print(f"nnapi: NNAPI_TRACE: {reason}", file=sys.stderr, flush=True)
