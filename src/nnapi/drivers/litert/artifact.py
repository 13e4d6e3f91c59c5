"""The engine's compiled graph, which is also an entry of the compilation cache.

Both have the same content: a file, which the engine can map, followed by the other facts.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from typing import NamedTuple

from nnapi.drivers.base import CacheEntry
from nnapi.model.memory import Memory
from nnapi.model.operand import Shape

VERSION = 7
"""Of entries: to be raised with every change of what graphs become."""
TAIL = struct.Struct("<II")
"""The version, and the bytes of JSON in front of it."""


class Compiled(NamedTuple):
    """A serialized graph and its facts, which end the content.

    ``flipped`` tells, for each input, then each output, whether the caller's values are unsigned and the engine's
    signed. ``shapes`` are those of the outputs; ``origins`` are the calls of the model behind the operators; ``work``
    is the number of MACs. ``assumed`` are the shapes of the inputs (None for one that is omitted) that it was made for,
    where other runs may need other graphs. ``file`` begins with the content, if there is one.
    """

    content: bytes | memoryview
    flipped: tuple[bool, ...]
    shapes: tuple[Shape, ...]
    origins: tuple[int | None, ...]
    work: int
    assumed: tuple[Shape | None, ...] | None = None
    file: Memory | None = None


def write_tail(
    flipped: Sequence[bool],
    shapes: Sequence[Shape],
    origins: Sequence[int | None],
    work: int,
    assumed: Sequence[Shape | None] | None,
) -> bytes:
    """Return the bytes that follow the file, for :func:`unpack`."""
    told = {"flipped": flipped, "shapes": shapes, "origins": origins, "work": work, "assumed": assumed}
    text = json.dumps(told).encode()
    return text + TAIL.pack(VERSION, len(text))


def unpack(entry: CacheEntry) -> Compiled:
    """The graph of an entry; ValueError where it is none of this version."""
    content = memoryview(entry.content)
    end = len(content) - TAIL.size
    version, length = TAIL.unpack_from(content, end)
    if version != VERSION:
        raise ValueError(f"it has version {version}, the driver's is {VERSION}")
    told = json.loads(bytes(content[end - length : end]))
    return Compiled(
        content,
        tuple(told["flipped"]),
        tuple(map(tuple, told["shapes"])),
        tuple(told["origins"]),
        told["work"],
        told["assumed"] and tuple(shape and tuple(shape) for shape in told["assumed"]),
        entry.file,
    )
