"""The engine's compiled graph and entry of the compilation cache: a file, followed by the other facts."""

import json
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

from nnapi.drivers.base import CacheEntry
from nnapi.model.memory import Memory
from nnapi.model.operand import Array, Shape

VERSION = 9
"""Of entries: increase it with every change of compiled graphs."""
TAIL = struct.Struct("<II")
"""The version, and the bytes of JSON before it."""


class Compiled(NamedTuple):
    """A serialized graph and its facts, which end the content.

    ``flipped``: for each input, then each output, whether the caller's values are unsigned and the engine's signed.
    ``shapes`` are those of the outputs, ``origins`` the operation of each operator, ``work`` is the number of MACs. A
    dynamic graph was made for the input shapes ``assumed`` (None for an omitted one). The engine may compute
    ``in_float16``. ``file`` begins with the content.
    """

    content: bytes | memoryview
    flipped: tuple[bool, ...]
    shapes: tuple[Shape, ...]
    origins: tuple[int | None, ...]
    work: int
    assumed: tuple[Shape | None, ...] | None = None
    in_float16: bool = False
    file: Memory | None = None


class Engine(NamedTuple):
    """An interpreter, its graph's content, views of its inputs and outputs, and its threads, for the profiler."""

    content: bytes | memoryview
    native: Any
    inputs: Sequence[Array]
    outputs: Sequence[Array]
    threads: int


def write_facts(*facts: Any) -> bytes:
    """Return the bytes that follow the file, for :func:`read_facts`."""
    text = json.dumps(facts).encode()
    return text + TAIL.pack(VERSION, len(text))


def read_facts(content: memoryview) -> tuple[Any, int]:
    """Return the facts, lists as tuples, and the length of the file before them; ValueError for another version."""
    end = len(content) - TAIL.size
    found, length = TAIL.unpack_from(content, end)
    if found != VERSION:
        raise ValueError(f"it has version {found}, the driver's is {VERSION}")
    return _freeze(json.loads(bytes(content[end - length : end]))), end - length


def cut_facts(compiled: Compiled) -> bytes:
    """Return the file without the facts."""
    content = memoryview(compiled.content)
    return bytes(content[: read_facts(content)[1]])


def _freeze(value: Any) -> Any:
    return tuple(map(_freeze, value)) if isinstance(value, list) else value


def unpack(entry: CacheEntry) -> Compiled:
    """Return the graph of an entry; ValueError for another version."""
    content = memoryview(entry.content)
    return Compiled(*(content, *read_facts(content)[0], entry.file))
