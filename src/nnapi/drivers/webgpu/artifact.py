"""The accelerator's compiled model, which is also an entry of the compilation cache."""

from __future__ import annotations

import json
import struct
from typing import NamedTuple

from nnapi.drivers.base import CacheEntry
from nnapi.model.operand import Shape

VERSION = 2
"""Of entries: to be raised with every change of what models become."""
TAIL = struct.Struct("<II")
"""The version, and the bytes of JSON in front of it."""


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
    told = json.dumps([compiled.flipped, compiled.relaxed, compiled.assumed]).encode()
    return b"".join([compiled.content, told, TAIL.pack(VERSION, len(told))])


def unpack(entry: CacheEntry) -> Compiled:
    """The file of an entry; ValueError where it is none of this version."""
    content = memoryview(entry.content)
    end = len(content) - TAIL.size
    version, length = TAIL.unpack_from(content, end)
    if version != VERSION:
        raise ValueError(f"it has version {version}, the driver's is {VERSION}")
    flipped, relaxed, assumed = json.loads(bytes(content[end - length : end]))
    shapes = None if assumed is None else tuple(None if shape is None else tuple(shape) for shape in assumed)
    return Compiled(bytes(content[: end - length]), tuple(flipped), relaxed, shapes)
