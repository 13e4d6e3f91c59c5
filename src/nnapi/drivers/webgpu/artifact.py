"""The accelerator's compiled model, and its entry of the compilation cache."""

from __future__ import annotations

from typing import NamedTuple

from nnapi.drivers.base import CacheEntry
from nnapi.drivers.litert.artifact import read_facts, write_facts
from nnapi.model.operand import Shape

VERSION = 2
"""Of entries: increase it with every change of compiled models."""


class Compiled(NamedTuple):
    """A file for the accelerator. ``relaxed`` allows float16.

    ``flipped``: for each input, then each output, whether the caller's values are unsigned and the engine's signed. A
    dynamic model was made for the input shapes ``assumed`` (None for an omitted one).
    """

    content: bytes
    flipped: tuple[bool, ...]
    relaxed: bool
    assumed: tuple[Shape | None, ...] | None


def pack(compiled: Compiled) -> bytes:
    return compiled.content + write_facts(VERSION, *compiled[1:])


def unpack(entry: CacheEntry) -> Compiled:
    """Return the file of an entry; ValueError for another version."""
    content = memoryview(entry.content)
    facts, length = read_facts(content, VERSION)
    return Compiled(bytes(content[:length]), *facts)
