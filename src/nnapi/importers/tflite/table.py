"""Checked access to a FlatBuffer: nothing in the file is trusted before its bounds have been verified.

The generated classes of the ``tflite`` package read through a ``flatbuffers.table.Table``. Here they are given a
:class:`CheckedTable` instead, which raises BadDataError where a position, a length or a table lies outside the file,
and counts what is read, so that a file whose parts all refer to each other cannot take more time than its size allows.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
from flatbuffers import encode
from flatbuffers import number_types as N
from flatbuffers.table import Table

from nnapi.errors import BadDataError, need
from nnapi.model.operand import Array

READS_PER_BYTE = 4
"""How often a file may refer to each of its bytes, on average; real files do so once."""


@cache
def schema(name: str) -> Any:
    """The generated class ``name``, from its module alone: the ``tflite`` package loads all of its 180 at once."""
    package = find_spec("tflite")
    if package is None or not package.submodule_search_locations:
        raise ImportError("reading .tflite files needs the package tflite", name="tflite")
    path = Path(package.submodule_search_locations[0], f"{name}.py")
    spec = spec_from_file_location(f"{__name__}.{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)


class Source:
    """The bytes of a file and what may still be read of them."""

    def __init__(self, content: memoryview) -> None:
        self.content = content
        self.size = len(content)
        self.budget = READS_PER_BYTE * self.size + 4096

    def spend(self, count: int) -> None:
        """Account for reading ``count`` bytes."""
        self.budget -= count
        need(self.budget >= 0, "its parts refer to each other more often than its size allows", BadDataError)


class CheckedTable(Table):  # type: ignore[misc]  # flatbuffers is published without types
    """A table of which every access stays inside the file."""

    __slots__ = ("_fields", "_vtable", "source")

    def __init__(self, source: Source, position: int) -> None:
        super().__init__(source.content, position)
        self.source = source
        self._vtable = position - self._read("<i", position, "a table")
        need(self._vtable >= 0, "a table's description lies before the file", BadDataError)
        self._fields, size = (self._read("<H", self._vtable + at, "a table's description") for at in (0, 2))
        need(self._vtable + self._fields <= source.size, "a table's description ends after the file", BadDataError)
        need(size >= 4 and position + size <= source.size, "a table ends after the file", BadDataError)
        source.spend(size)

    def Offset(self, field: int) -> int:
        """Distance of a field from the table, 0 where the file leaves it out."""
        return self._read("<H", self._vtable + field, "a field") if field + 2 <= self._fields else 0

    def Indirect(self, position: int) -> int:
        """The position that the offset stored at ``position`` leads to."""
        target: int = position + self._read("<I", position, "an offset")
        need(target + 4 <= self.source.size, "an offset leads outside the file", BadDataError)
        return target

    def VectorLen(self, field: int) -> int:
        """Number of elements; a vector of that many bytes at least fits the file."""
        start = self.Indirect(self.Pos + field)
        length = self._read("<I", start, "a vector")
        need(start + 4 + length <= self.source.size, "a vector ends after the file", BadDataError)
        return length

    def Vector(self, field: int) -> int:
        """Position of the first element."""
        return self.Indirect(self.Pos + field) + 4

    def String(self, position: int) -> bytes:
        start = self.Indirect(position)
        length = self._read("<I", start, "a string")
        need(start + 4 + length <= self.source.size, "a string ends after the file", BadDataError)
        self.source.spend(length)
        return bytes(self.source.content[start + 4 : start + 4 + length])

    def Get(self, flags: Any, position: int) -> Any:
        try:
            return flags.py_type(encode.Get(flags.packer_type, self.Bytes, position))
        except struct.error:
            raise BadDataError("a field lies outside the file") from None

    def GetVectorAsNumpy(self, flags: Any, field: int) -> Array:
        start, length, dtype = self.Vector(field), self.VectorLen(field), N.to_numpy_type(flags)
        bytes_needed = length * np.dtype(dtype).itemsize
        need(start + bytes_needed <= self.source.size, "a vector ends after the file", BadDataError)
        self.source.spend(bytes_needed)
        return np.frombuffer(self.source.content, dtype, length, start)

    def Union(self, target: Table, field: int) -> None:
        target.Bytes, target.Pos = self.Bytes, self.Indirect(self.Pos + field)

    def _read(self, layout: str, position: int, what: str) -> int:
        need(0 <= position <= self.source.size - struct.calcsize(layout), f"{what} lies outside the file", BadDataError)
        value: int = struct.unpack_from(layout, self.source.content, position)[0]
        return value


def root(source: Source, kind: Any) -> Any:
    """The file's root table, as an object of the generated class ``kind``."""
    need(source.size >= 8, f"{source.size} bytes are too few for a FlatBuffer", BadDataError)
    position = struct.unpack_from("<I", source.content, 0)[0]
    return _view(kind(), source, position)


def children(parent: Any, field: int, kind: Any) -> Iterator[Any]:
    """The tables in the vector at ``field`` (as the schema numbers it) of a generated object, as the class ``kind``."""
    tab: CheckedTable = parent._tab
    if place := tab.Offset(field):
        start = tab.Vector(place)
        for index in range(tab.VectorLen(place)):
            yield _view(kind(), tab.source, tab.Indirect(start + 4 * index))


def child(parent: Any, field: int, kind: Any) -> Any | None:
    """The table at ``field`` of a generated object, None where the file leaves it out."""
    tab: CheckedTable = parent._tab
    place = tab.Offset(field)
    return _view(kind(), tab.source, tab.Indirect(tab.Pos + place)) if place else None


def member(parent: Any, name: str, kind: Any) -> Any | None:
    """The union member ``name`` of a generated object, read as the class ``kind``."""
    found = getattr(parent, name)()
    return None if found is None else _view(kind(), parent._tab.source, found.Pos)


def numbers(parent: Any, name: str) -> Array:
    """The vector of numbers ``name`` of a generated object; empty where the file leaves it out."""
    found = getattr(parent, f"{name}AsNumpy")()
    return found if isinstance(found, np.ndarray) else np.zeros(0, np.int64)


def empty(kind: Any) -> Any:
    """An object of a generated class of which every field has its default."""
    return _view(kind(), Source(memoryview(b"\4\0\4\0\4\0\0\0")), 4)


def _view(target: Any, source: Source, position: int) -> Any:
    target._tab = CheckedTable(source, position)
    return target
