"""Recordings as files: their name says in which form."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nnapi.errors import BadDataError, need
from nnapi.trace.recorder import Span

FORMATS = (".html", ".json", ".txt")
"""Android's systrace in a page to look at, Chrome's trace events, ftrace's text."""


def need_format(file: Path) -> None:
    """Raises BadDataError for a name that says no form."""
    need(file.suffix in FORMATS, f"{file.name} must end in {', '.join(FORMATS)}", BadDataError)


def write_trace(file: Path, spans: Sequence[Span], title: str) -> None:
    """Write the spans in the form that the name says; ``title`` is the heading of a page. OSError where that fails."""
    need_format(file)
    file.write_text(_text(file.suffix, spans, title), encoding="utf-8", errors="replace")


def _text(suffix: str, spans: Sequence[Span], title: str) -> str:
    """Each writer is imported when it is needed: most processes that could write a trace do not."""
    if suffix == ".html":
        from nnapi.report.trace_page import trace_page

        return trace_page(spans, title)
    if suffix == ".json":
        from nnapi.trace.chrome import to_json

        return to_json(spans)
    from nnapi.trace.systrace import to_ftrace

    return to_ftrace(spans)
