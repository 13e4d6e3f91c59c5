"""What happened, and when: sections that are recorded, written as traces and read back; logs."""

from nnapi.trace.labels import Layer, Phase
from nnapi.trace.spans import (
    Part,
    Recorder,
    Section,
    Span,
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
