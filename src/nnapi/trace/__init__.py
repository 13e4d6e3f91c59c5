"""Traces: recording this process, and trace files."""

import typing

from nnapi.trace.labels import Layer, Phase
from nnapi.trace.spans import (
    Section,
    begin_async_section,
    begin_section,
    end_async_section,
    end_section,
    is_enabled,
    mute,
    recording,
    section,
    span,
    start,
    stop,
)

if typing.TYPE_CHECKING:
    from nnapi.trace.recorder import Part, Recorder, Span

__all__ = [
    "Layer",
    "Part",
    "Phase",
    "Recorder",
    "Section",
    "Span",
    "begin_async_section",
    "begin_section",
    "end_async_section",
    "end_section",
    "is_enabled",
    "mute",
    "recording",
    "section",
    "span",
    "start",
    "stop",
]

if not typing.TYPE_CHECKING:  # type checkers would accept every name

    def __getattr__(name: str) -> object:
        if name not in ("Part", "Recorder", "Span"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from nnapi.trace import recorder  # on demand: only recording needs it

        return getattr(recorder, name)
