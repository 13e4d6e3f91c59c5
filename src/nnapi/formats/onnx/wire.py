"""The encoding of protocol buffers: fields of messages by their numbers, as views of the content."""

import struct
from collections.abc import Iterator

import numpy as np

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
"""Wire types; 3 and 4, groups, are obsolete."""
SIZES = {FIXED64: 8, FIXED32: 4}
MOST_SHIFT = 63
LONG, MANY = 64, 16
"""Bytes of a packed field, and values of one that is not packed, from which NumPy decodes the rest."""
WINDOW = 1 << 16
"""Bytes that NumPy decodes at once: constants may follow the numbers."""
Raw = int | memoryview


class DecodeError(ValueError):
    """The content is not a protocol buffer."""


def read_varint(content: memoryview, at: int, end: int) -> tuple[int, int]:
    """Return the number at an offset, and the offset behind it."""
    value = shift = 0
    while at < end:
        byte = content[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value & (1 << 64) - 1, at
        shift += 7
        if shift > MOST_SHIFT:
            raise DecodeError("a number takes more than 10 bytes")
    raise DecodeError("a number ends after its message")


def read_fields(content: memoryview) -> dict[int, list[Raw]]:
    """Return the values of each field: numbers, or views of the bytes of all other values."""
    found: dict[int, list[Raw]] = {}
    at, end = 0, len(content)
    while at < end:
        begin, key = at, content[at]
        if key < 128:
            at += 1
        else:
            key, at = read_varint(content, at, end)
        number, kind = key >> 3, key & 7
        values = found.setdefault(number, [])
        if kind == BYTES:
            if at < end and content[at] < 128:
                size = content[at]
                at += 1
            else:
                size, at = read_varint(content, at, end)
        elif kind == VARINT:
            if len(values) >= MANY and at - begin == 1:
                at = _read_run(content[begin : begin + WINDOW], key, values) + begin
                continue
            value, at = read_varint(content, at, end)
            values.append(value)
            continue
        elif kind in SIZES:
            size = SIZES[kind]
            if kind == FIXED32 and len(values) >= MANY and end - begin >= 5:
                at = _read_float_run(content[begin : begin + WINDOW], key, values) + begin
                continue
        else:
            raise DecodeError(f"field {number} has the wire type {kind}")
        if size > end - at or not number:
            raise DecodeError(f"field {number} ends after its message")
        values.append(content[at : at + size])
        at += size
    return found


def read_varints(content: memoryview) -> list[int]:
    """Return the numbers of a packed field."""
    if len(content) < LONG:
        found, at = [], 0
        while at < len(content):
            value, at = read_varint(content, at, len(content))
            found.append(value)
        return found
    if content[-1] > 127:
        raise DecodeError("a number ends after its field")
    return list(map(int, _decode(*_find_varints(content))))


def _read_run(content: memoryview, key: int, values: list[Raw]) -> int:
    """Append the values of a run of numbers that all have the same ``key``; return the offset behind them."""
    array, starts, sizes = _find_varints(content)
    count = len(starts) // 2
    is_key = (array[starts[: 2 * count : 2]] == key) & (sizes[: 2 * count : 2] == 1)
    run = count if is_key.all() else int(is_key.argmin())
    if not run:
        raise DecodeError("a number ends after its message")
    values += _decode(array, starts[1 : 2 * run : 2], sizes[1 : 2 * run : 2]).tolist()
    last = 2 * run - 1
    return int(starts[last] + sizes[last])


def _find_varints(content: memoryview) -> tuple["np.ndarray", "np.ndarray", "np.ndarray"]:
    """Return the bytes as an array, and the offsets and sizes of the numbers that they hold."""
    array = np.frombuffer(content, np.uint8)
    ends = np.flatnonzero(array < 128) + 1
    starts = np.concatenate([[0], ends[:-1]]) if len(ends) else ends
    return array, starts, ends - starts


def _decode(array: "np.ndarray", starts: "np.ndarray", sizes: "np.ndarray") -> "np.ndarray":
    longest = int(sizes.max(initial=0))
    if longest > 10:
        raise DecodeError("a number takes more than 10 bytes")
    values = np.zeros(len(starts), np.uint64)
    for i in range(longest):
        used = sizes > i
        values[used] |= (array[starts[used] + i] & 127).astype(np.uint64) << np.uint64(7 * i)
    return values


def _read_float_run(content: memoryview, key: int, values: list[Raw]) -> int:
    """Append the values of a run of 4-byte fields that all have the same ``key``; return the offset behind them."""
    rows = np.frombuffer(content, np.uint8, len(content) // 5 * 5).reshape(-1, 5)
    is_key = rows[:, 0] == key
    run = len(rows) if is_key.all() else int(is_key.argmin())
    values += [content[i + 1 : i + 5] for i in range(0, 5 * run, 5)]
    return 5 * run


def write_varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    found.append(value)
    return bytes(found)


def write_field(number: int, value: int | float | bytes) -> bytes:
    """Return a field: an int as a varint, a float in 4 bytes, bytes with their length."""
    if isinstance(value, float):
        return write_varint(number << 3 | FIXED32) + struct.pack("<f", value)
    if isinstance(value, int):
        return write_varint(number << 3 | VARINT) + write_varint(value)
    return b"".join((write_varint(number << 3 | BYTES), write_varint(len(value)), value))


def signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def unpack(values: list[Raw], format: str) -> Iterator[float]:
    """Yield the numbers of a repeated field of floats, packed or not."""
    for value in values:
        if not isinstance(value, memoryview) or len(value) % struct.calcsize(format):
            raise DecodeError("a float is not of its size")
        yield from (number for (number,) in struct.iter_unpack(f"<{format}", value))
