"""Parameters of operations: a FlexBuffer whose root maps names to numbers, strings and vectors.

A FlexBuffer is read from its end: the root's width in bytes, its packed type (type and width), its value. Offsets point
backwards. The offset of a map's keys, their width and the map's size precede its values; the types follow the values.
"""

from collections.abc import Mapping
from struct import Struct

from nnapi.errors import BadDataError, need

Value = int | float | bool | str | tuple[int | float, ...] | None

INT, UINT, FLOAT, STRING, INDIRECT_INT, INDIRECT_UINT, INDIRECT_FLOAT, MAP, BOOL = 1, 2, 3, 5, 6, 7, 8, 9, 26
MIXED = 10
VECTORS = {11: INT, 12: UINT, 13: FLOAT}
DIRECT = {INDIRECT_INT: INT, INDIRECT_UINT: UINT, INDIRECT_FLOAT: FLOAT}
"""The type at the target of each indirect type."""
STORED = {
    INT: {1: Struct("<b"), 2: Struct("<h"), 4: Struct("<i"), 8: Struct("<q")},
    UINT: {1: Struct("<B"), 2: Struct("<H"), 4: Struct("<I"), 8: Struct("<Q")},
    FLOAT: {2: Struct("<e"), 4: Struct("<f"), 8: Struct("<d")},
}
READS_PER_BYTE = 4
WIDTH, PACKED = 4, 2
"""The width of written numbers in bytes, and its code in a packed type."""


def read_map(content: bytes) -> dict[str, Value]:
    """Return the root map. Raises BadDataError for damaged data, or if the root is not a map."""
    need(len(content) >= 3, "there are too few bytes", BadDataError)
    buffer = _Buffer(content)
    packed, width = content[-2], content[-1]
    need(packed >> 2 == MAP, "the root is not a map", BadDataError)
    return buffer.map_at(buffer.target(len(content) - 2 - width, width), 1 << (packed & 3))


class _Buffer:
    def __init__(self, content: bytes) -> None:
        self.content = content
        self._left = READS_PER_BYTE * len(content)

    def map_at(self, start: int, width: int) -> dict[str, Value]:
        """Return the map whose first value is at ``start``; its offsets and sizes have ``width`` bytes."""
        keys = self.target(start - 3 * width, width)
        key_width, size = (self.number(UINT, start - count * width, width) for count in (2, 1))
        need(size * width <= len(self.content), "the map ends after the parameters", BadDataError)
        types = start + int(size) * width
        found: dict[str, Value] = {}
        for i in range(int(size)):
            key = self.target(keys + i * int(key_width), int(key_width))
            packed = int(self.number(UINT, types + i, 1))
            found[self.key(key)] = self.value(packed, start + i * width, width)
        return found

    def value(self, packed: int, at: int, width: int) -> Value:
        kind = packed >> 2
        if kind in DIRECT:
            return self.number(DIRECT[kind], self.target(at, width), 1 << (packed & 3))
        if kind == STRING:
            start, size_width = self.target(at, width), 1 << (packed & 3)
            size = int(self.number(UINT, start - size_width, size_width))
            return self.text(start, start + size)
        if kind in VECTORS or kind == MIXED:
            return self.numbers(VECTORS.get(kind), self.target(at, width), 1 << (packed & 3))
        if kind == BOOL:
            return bool(self.number(UINT, at, width))
        return self.number(kind, at, width) if kind in STORED else None

    def numbers(self, kind: int | None, start: int, width: int) -> tuple[int | float, ...]:
        """Return a vector; types follow the values if ``kind`` is None. Reads are counted, like those of texts."""
        size = int(self.number(UINT, start - width, width))
        self._left -= size * width
        need(self._left >= 0, "a vector lies outside, or vectors overlap too often", BadDataError)
        types = start + size * width
        kinds = [int(self.number(UINT, types + i, 1)) >> 2 if kind is None else kind for i in range(size)]
        need(all(each in STORED for each in kinds), "a vector has elements that are not numbers", BadDataError)
        return tuple(self.number(each, start + i * width, width) for i, each in enumerate(kinds))

    def number(self, kind: int, at: int, width: int) -> int | float:
        stored = STORED[kind].get(width)
        if stored is None or not 0 <= at <= len(self.content) - width:
            raise BadDataError(f"a number of {width} bytes at {at} is not a number, or lies outside")
        number: int | float = stored.unpack_from(self.content, at)[0]
        return number

    def target(self, at: int, width: int) -> int:
        """Return the target of the offset at ``at``; :meth:`number` and :meth:`key` check it."""
        return at - int(self.number(UINT, at, width))

    def key(self, at: int) -> str:
        return self.text(at, self.content.find(b"\0", at, at + self._left + 1) if at >= 0 else at - 1)

    def text(self, start: int, end: int) -> str:
        """Return the text between two positions. Reads are counted, because texts may share bytes."""
        self._left -= end - start
        if not 0 <= start <= end <= len(self.content) or self._left < 0:
            raise BadDataError("a text lies outside, or texts overlap too often")
        return self.content[start:end].decode("utf-8", "replace")


def write_map(numbers: Mapping[str, int | float]) -> bytes:
    """Return a FlexBuffer whose root maps names to numbers of 4 bytes."""
    names = sorted(numbers)
    texts = [name.encode() + b"\0" for name in names]
    keys = sum(map(len, texts))
    keys += -keys % WIDTH + WIDTH
    size = _pack(len(names))
    starts = [sum(map(len, texts[:position])) for position in range(len(names))]
    offsets = b"".join(_pack(keys + WIDTH * position - start) for position, start in enumerate(starts))
    values = keys + len(offsets) + 3 * WIDTH
    kinds = [FLOAT if isinstance(numbers[name], float) else INT for name in names]
    stored = b"".join(STORED[kind][WIDTH].pack(numbers[name]) for kind, name in zip(kinds, names, strict=True))
    types = bytes(kind << 2 | PACKED for kind in kinds)
    types += bytes(-len(types) % WIDTH)
    root = values + len(stored) + len(types)
    text = b"".join(texts).ljust(keys - WIDTH, b"\0")
    head = _pack(values - 3 * WIDTH - keys) + _pack(WIDTH) + size
    return text + size + offsets + head + stored + types + _pack(root - values) + bytes((MAP << 2 | PACKED, WIDTH))


def _pack(number: int) -> bytes:
    return STORED[UINT][WIDTH].pack(number)
