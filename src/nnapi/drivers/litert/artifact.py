"""The engine's compiled graph, as the compilation cache stores it: a .tflite file, followed by other facts."""

import json
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

from nnapi.contract.driver import CacheEntry
from nnapi.model.memory import Memory
from nnapi.model.operand import Array, Shape

VERSION = 11
"""Version of entries; increase it with every change of compiled graphs."""
TAIL = struct.Struct("<II")
"""The last bytes of an entry: VERSION, and the length of the JSON before them."""


class SerializedGraph(NamedTuple):
    """A serialized graph with its facts, which are also at the end of ``content``.

    ``flipped`` says, for each input and then each output, whether callers see unsigned values and the engine signed
    ones. ``shapes`` are those of the outputs, without those of ``turns``; ``origins`` has the operation of each
    operator; ``work`` is the number of MACs. A dynamic graph was made for the input shapes ``assumed`` (None: omitted).
    ``in_float16`` permits float16.
    ``turns`` are those that its loops may take at first (:mod:`~nnapi.contract.loops`). ``file`` is the mapped file
    that begins with ``content``.
    """

    content: bytes | memoryview
    flipped: tuple[bool, ...]
    shapes: tuple[Shape, ...]
    origins: tuple[int | None, ...]
    work: int
    assumed: tuple[Shape | None, ...] | None = None
    in_float16: bool = False
    turns: tuple[int, ...] = ()
    file: Memory | None = None


class Engine(NamedTuple):
    """An interpreter, its graph's content, views of its inputs and outputs, and its threads; for the profiler."""

    content: bytes | memoryview
    native: Any
    inputs: Sequence[Array]
    outputs: Sequence[Array]
    threads: int


def write_facts(*facts: Any) -> bytes:
    """Return facts as the bytes that follow the .tflite file, for :func:`read_facts`."""
    text = json.dumps(facts).encode()
    return text + TAIL.pack(VERSION, len(text))


def read_facts(content: memoryview) -> tuple[Any, int]:
    """Return the facts, with tuples for lists, and the .tflite file's length; ValueError for another version."""
    end = len(content) - TAIL.size
    found, length = TAIL.unpack_from(content, end)
    if found != VERSION:
        raise ValueError(f"it has version {found}, the driver's is {VERSION}")
    return _freeze(json.loads(bytes(content[end - length : end]))), end - length


def cut_facts(compiled: SerializedGraph) -> bytes:
    """Return the .tflite file without the facts."""
    content = memoryview(compiled.content)
    return bytes(content[: read_facts(content)[1]])


def _freeze(value: Any) -> Any:
    return tuple(map(_freeze, value)) if isinstance(value, list) else value


def unpack(entry: CacheEntry) -> SerializedGraph:
    """Return the compiled graph in a cache entry; raise ValueError for another version."""
    content = memoryview(entry.content)
    return SerializedGraph(*(content, *read_facts(content)[0], entry.file))
