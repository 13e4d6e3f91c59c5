"""The engine's compiled graph, which is also an entry of the compilation cache.

Both have the same content: a file, which the engine can map, followed by the other facts.
"""

from __future__ import annotations

import json
import struct
from typing import Any, NamedTuple

from nnapi.drivers.base import CacheEntry
from nnapi.model.memory import Memory
from nnapi.model.operand import Shape

VERSION = 8
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


def write_facts(version: int, *facts: Any) -> bytes:
    """Return the bytes that follow the file, for :func:`read_facts`."""
    text = json.dumps(facts).encode()
    return text + TAIL.pack(version, len(text))


def read_facts(content: memoryview, version: int) -> tuple[Any, int]:
    """Return the facts, lists as tuples, and the length of the file before them; ValueError for another version."""
    end = len(content) - TAIL.size
    found, length = TAIL.unpack_from(content, end)
    if found != version:
        raise ValueError(f"it has version {found}, the driver's is {version}")
    return _freeze(json.loads(bytes(content[end - length : end]))), end - length


def _freeze(value: Any) -> Any:
    return tuple(map(_freeze, value)) if isinstance(value, list) else value


def unpack(entry: CacheEntry) -> Compiled:
    """The graph of an entry; ValueError where it is none of this version."""
    content = memoryview(entry.content)
    return Compiled(*(content, *read_facts(content, VERSION)[0], entry.file))
