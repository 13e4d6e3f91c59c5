"""The accelerator's compiled model, which is also an entry of the compilation cache."""

from __future__ import annotations

from typing import NamedTuple

from nnapi.drivers.base import CacheEntry
from nnapi.drivers.litert.artifact import read_facts, write_facts
from nnapi.model.operand import Shape

VERSION = 2
"""Of entries: to be raised with every change of what models become."""


class Compiled(NamedTuple):
    """A file for the accelerator.

    ``flipped`` tells, for each input, then each output, whether the caller's values are unsigned and the engine's
    signed. ``relaxed`` allows float16. ``assumed`` are the shapes of the inputs (None for one that is omitted) that it
    was made for, where other runs may need other files.
    """

    content: bytes
    flipped: tuple[bool, ...]
    relaxed: bool
    assumed: tuple[Shape | None, ...] | None


def pack(compiled: Compiled) -> bytes:
    """Return the content that :func:`unpack` reads."""
    return compiled.content + write_facts(VERSION, *compiled[1:])


def unpack(entry: CacheEntry) -> Compiled:
    """The file of an entry; ValueError where it is none of this version."""
    content = memoryview(entry.content)
    facts, length = read_facts(content, VERSION)
    return Compiled(bytes(content[:length]), *facts)
