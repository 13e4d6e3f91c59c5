"""Checked access to a FlatBuffer: each bound is verified before use; BadDataError reports an invalid offset.

Reads are counted, so that a file with cyclic references cannot take more time than its size allows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from struct import Struct, error, unpack_from
from typing import Any

from nnapi.errors import BadDataError, need
from nnapi.formats.tflite.operators import Field

READS_PER_BYTE = 4
"""Bytes that may be read per byte of the file, on average; real files need one."""
MOST_FIELDS = 16
MOST_DESCRIPTIONS = 4096
"""The most vtables that are cached; in real files, all tables share a few."""

OFFSET, DISTANCE, LENGTHS = Struct("<I"), Struct("<i"), Struct("<HH")
NUMBERS = {code: Struct(f"<{code}") for code in "?bBhHiIqQf"}
TEXT = "s"
SIZES = {code: number.size for code, number in NUMBERS.items()}
_offset, _distance = OFFSET.unpack_from, DISTANCE.unpack_from
_number = {code: number.unpack_from for code, number in NUMBERS.items()}


class Source:
    """The bytes of a file, and the number of bytes that may still be read."""

    def __init__(self, content: memoryview) -> None:
        self.content = content
        self.size = len(content)
        self.budget = READS_PER_BYTE * self.size + 4096
        self._descriptions: dict[int, tuple[int, tuple[int, ...]]] = {}

    def spend(self, count: int) -> None:
        self.budget -= count
        if self.budget < 0:
            raise BadDataError("its parts refer to each other more often than its size allows")

    def root(self) -> Record:
        if self.size < 8:
            raise BadDataError(f"{self.size} bytes are too few for a FlatBuffer")
        return self.table(OFFSET.unpack_from(self.content)[0])

    def table(self, at: int) -> Record:
        try:
            description = at - _distance(self.content, at)[0]
        except error:
            raise BadDataError("a table lies outside the file, which is damaged or cut off") from None
        found = self._descriptions.get(description)
        size, fields = self._describe(description) if found is None else found
        if size < 4 or at + size > self.size:
            raise BadDataError("a table ends after the file, which is damaged or cut off")
        self.budget -= size
        if self.budget < 0:
            self.spend(0)
        return Record(self, at, fields)

    def follow(self, at: int) -> Record:
        try:
            target = at + _offset(self.content, at)[0]
        except error:
            raise BadDataError("an offset lies outside the file, which is damaged or cut off") from None
        if target + 4 > self.size:
            raise BadDataError("an offset leads outside the file, which is damaged or cut off")
        return self.table(target)

    def vector(self, at: int, itemsize: int, what: str = "a vector") -> tuple[int, int]:
        """Return the start and the length of the vector that the offset at ``at`` leads to."""
        content = self.content
        try:
            start = at + _offset(content, at)[0]
            length: int = _offset(content, start)[0]
        except error:
            verb = "leads" if at + OFFSET.size <= self.size else "lies"
            raise BadDataError(f"an offset {verb} outside the file, which is damaged or cut off") from None
        start += 4
        if start + length * itemsize > self.size:
            raise BadDataError(f"{what} ends after the file, which is damaged or cut off")
        return start, length

    def _describe(self, at: int) -> tuple[int, tuple[int, ...]]:
        """Return the table size and field offsets (0 if absent) in the vtable at ``at``."""
        if at < 0:
            raise BadDataError("a table's description lies before the file")
        try:
            length, size = LENGTHS.unpack_from(self.content, at)
        except error:
            raise BadDataError("a table's description lies outside the file, which is damaged or cut off") from None
        if at + length > self.size:
            raise BadDataError("a table's description ends after the file, which is damaged or cut off")
        count = min(max(length - 4, 0) // 2, MOST_FIELDS)
        offsets = unpack_from(f"<{count}H", self.content, at + 4) if count else ()
        if len(self._descriptions) >= MOST_DESCRIPTIONS:
            self._descriptions.clear()
        found = self._descriptions[at] = (size, offsets + (0,) * (MOST_FIELDS - count))
        return found


class Record:
    """A table of the file; ``offsets`` are those of its fields, 0 if omitted. Fields have the schema's numbers."""

    __slots__ = ("_at", "_offsets", "_source")

    def __init__(self, source: Source, at: int, offsets: tuple[int, ...]) -> None:
        self._source, self._at, self._offsets = source, at, offsets

    def has(self, field: int) -> bool:
        return self._offsets[field] != 0

    def has_any(self, first: int, last: int) -> bool:
        return any(self._offsets[first : last + 1])

    def position(self, field: int) -> int:
        need(self.has(field), "a table lacks a field", BadDataError)
        return self._at + self._offsets[field]

    def values(self, fields: dict[str, Field]) -> dict[str, Any]:
        """Return fields by name, defaults for omitted ones; vectors become tuples."""
        found: dict[str, Any] = {}
        content, at, offsets = self._source.content, self._at, self._offsets
        try:
            for name, (number, code, is_vector, default) in fields.items():
                if is_vector:
                    found[name] = self.numbers(number, code)
                elif code == TEXT:
                    found[name] = self.text(number)
                else:
                    found[name] = _number[code](content, at + offsets[number])[0] if offsets[number] else default
        except error:
            raise BadDataError("a field lies outside the file, which is damaged or cut off") from None
        return found

    def number(self, field: int, code: str, default: Any = 0) -> Any:
        offset = self._offsets[field]
        if not offset:
            return default
        try:
            return _number[code](self._source.content, self._at + offset)[0]
        except error:
            raise BadDataError("a field lies outside the file, which is damaged or cut off") from None

    def numbers(self, field: int, code: str) -> tuple[Any, ...]:
        offset = self._offsets[field]
        if not offset:
            return ()
        start, length = self._elements(offset, SIZES[code])
        return unpack_from(f"<{length}{code}", self._source.content, start)

    def view(self, field: int, code: str) -> Sequence[Any]:
        """Return the same as :meth:`numbers`, as a view that reads each number on access."""
        offset = self._offsets[field]
        if not offset:
            return ()
        itemsize = SIZES[code]
        start, length = self._elements(offset, itemsize)
        return self._source.content[start : start + length * itemsize].cast(code) if length else ()  # type: ignore[call-overload]

    def _elements(self, offset: int, itemsize: int) -> tuple[int, int]:
        """Return the position and length of a vector; count its elements as read."""
        source = self._source
        start, length = source.vector(self._at + offset, itemsize)
        source.budget -= length * itemsize
        if source.budget < 0:
            source.spend(0)
        return start, length

    def region(self, field: int) -> tuple[int, int] | None:
        """Return the position and length of a vector of bytes, without reading it; None if it is omitted."""
        offset = self._offsets[field]
        return self._source.vector(self._at + offset, 1) if offset else None

    def length(self, field: int) -> int:
        return (self.region(field) or (0, 0))[1]

    def bytes(self, field: int) -> bytes:
        start, length = self.region(field) or (0, 0)
        self._source.spend(length)
        return bytes(self._source.content[start : start + length])

    def text(self, field: int) -> str:
        offset = self._offsets[field]
        if not offset:
            return ""
        source = self._source
        start, length = source.vector(self._at + offset, 1, "a string")
        source.budget -= length
        if source.budget < 0:
            source.spend(0)
        return str(source.content[start : start + length], "utf-8", "replace")

    def child(self, field: int) -> Record | None:
        offset = self._offsets[field]
        return self._source.follow(self._at + offset) if offset else None

    def children(self, field: int) -> Iterator[Record]:
        offset, source = self._offsets[field], self._source
        if offset:
            start, length = source.vector(self._at + offset, 1)
            for at in range(start, start + length * OFFSET.size, OFFSET.size):
                yield source.follow(at)
