"""Recordings as files in the format of the name's ending."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nnapi.errors import BadDataError, need
from nnapi.trace.recorder import Span

FORMATS = (".html", ".json", ".txt")
"""Android's systrace in a page, Chrome's trace events, ftrace's text."""


def need_format(file: Path) -> None:
    """Raise BadDataError for a name of unknown format."""
    need(file.suffix in FORMATS, f"{file.name} must end in {', '.join(FORMATS)}", BadDataError)


def write_trace(file: Path, spans: Sequence[Span], title: str) -> None:
    """Write the spans in the format of the name's ending; ``title`` heads a page. Raises OSError."""
    need_format(file)
    # Writers are imported on demand: most processes that could write a trace do not.
    if file.suffix == ".html":
        from nnapi.report.trace_page import trace_page

        text = trace_page(spans, title)
    elif file.suffix == ".json":
        from nnapi.trace.chrome import to_json

        text = to_json(spans)
    else:
        from nnapi.trace.systrace import to_ftrace

        text = to_ftrace(spans)
    file.write_text(text, encoding="utf-8", errors="replace")
