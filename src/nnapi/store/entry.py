"""The format of persistent files: writing, validation, pruning.

A file begins with its payload, so that an engine can map it. A short text (the plan of a compilation) and a JSON header
follow: file name, purpose, digest of everything. Readers ignore invalid files (truncated, altered, copied, unreadable)
and log the reason. Files are replaced, never changed, because other processes may have mapped them.
"""

import json
import mmap
import os
import struct
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple, Protocol

from nnapi.errors import NnapiError
from nnapi.store.digest import digest
from nnapi.store.files import find_foreign_writer, remove_abandoned, replace_file
from nnapi.trace.log import Log

log = Log("nnapi.CompilationCache")

MAGIC = b"\nNNAPI-CACHE-6\n"
"""The last bytes of every file. Increase the number with every change of content or format."""
TAIL = struct.Struct(f"<I{len(MAGIC)}s")
FIELDS = {"name", "purpose", "plan", "size", "digest", "label"}
LETTERS = 64
PAIRS = [chr(ord("A") + (byte & 15)) + chr(ord("A") + (byte >> 4)) for byte in range(256)]
SUFFIX = "10"
"""The last two letters of every name, as in the reference runtime: a model cache file (1), the first (0)."""


class Label(NamedTuple):
    model: str
    device: str
    version: str
    created: float


class Mapped(Protocol):
    size: int

    def view(self) -> Any: ...

    def stat(self) -> os.stat_result | None: ...


class Content(NamedTuple):
    """A valid file: purpose, plan (may be empty), payload, and the memory that maps the file, if any."""

    purpose: str
    plan: bytes
    payload: bytes | memoryview
    file: Any = None


class Entry(NamedTuple):
    """A cached file; ``size`` is in bytes, ``used`` in seconds since 1970, ``label`` None if unreadable."""

    path: str
    size: int
    used: float
    label: Label | None


def name_of_key(key: bytes) -> str:
    """Return the file name of a 32-byte key: two letters a byte, the low half first, then the suffix."""
    return "".join([PAIRS[byte] for byte in key]) + SUFFIX


def read_entry(
    path: str | os.PathLike[str], open_mapped: Callable[[str | os.PathLike[str]], Mapped] | None = None
) -> Content | None:
    """Return the content of a file; None if the file is missing or, with a logged reason, invalid.

    ``open_mapped`` maps the file, so that its payload is not copied; for a small file, reading is faster.
    """
    memory = None
    try:
        if open_mapped is not None:
            memory = open_mapped(path)
            reason = find_foreign_writer(memory.stat() or os.stat(path))
            data = memory.view().data if memory.size else memoryview(b"")
        else:
            with open(path, "rb", buffering=0) as file:
                reason = find_foreign_writer(os.fstat(file.fileno()))
                data = memoryview(file.read())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, NnapiError) as error:
        log.warning("%s ignored: %s", path, error)
        return None
    meta = _read_header(data)
    reason = reason or _find_fault(path, meta, data)
    if reason is not None or meta is None:
        log.warning("%s ignored: %s", path, reason)
        return None
    plan, size = meta["plan"], meta["size"]
    return Content(meta["purpose"], bytes(data[size - plan : size]), data[: size - plan], memory)


def write_entry(path: str | os.PathLike[str], label: Label, content: Content) -> None:
    """Write a file atomically; raise OSError if that fails."""
    plan, payload = content.plan, content.payload
    meta = {"name": os.path.basename(path), "purpose": content.purpose}
    meta |= {"plan": len(plan), "size": len(plan) + len(payload)}  # type: ignore[dict-item]
    header = json.dumps(meta | {"digest": _sign(meta, plan, payload), "label": label._asdict()}).encode()
    with replace_file(path) as file:
        file.writelines((payload, plan, header, TAIL.pack(len(header), MAGIC)))


def mark_used(path: str) -> None:
    try:
        os.utime(path)
    except OSError as error:
        log.debug("%s not marked as used: %s", path, error)


def _find_fault(path: str | os.PathLike[str], meta: dict[str, Any] | None, data: memoryview) -> str | None:
    if meta is None:
        return "it is not an entry of this cache's format"
    if meta["name"] != os.path.basename(path):
        return f"it was written as {meta['name']}"
    size, plan = len(data) - meta["length"], meta["plan"]
    if meta["size"] != size:
        return f"{size} bytes where {meta['size']} were written"
    if meta["digest"] != _sign(meta, data[size - plan : size], data[: size - plan]):
        return "its content has changed since it was written"
    return None


def _sign(meta: dict[str, Any], plan: bytes | memoryview, payload: bytes | memoryview) -> str:
    return digest(repr((meta["name"], meta["purpose"], meta["plan"])).encode(), plan, payload).hex()


def _read_header(data: memoryview) -> dict[str, Any] | None:
    """Return the header of a file, with ``length``, its bytes up to the end of the file; None for other formats."""
    end = len(data) - TAIL.size
    if end < 0:
        return None
    length, magic = TAIL.unpack_from(data, end)
    if magic != MAGIC or length > end:
        return None
    try:
        meta = json.loads(bytes(data[end - length : end]))
    except ValueError:
        return None
    if not isinstance(meta, dict) or not meta.keys() >= FIELDS:
        return None
    plan, size = meta["plan"], meta["size"]
    is_sound = isinstance(plan, int) and isinstance(size, int) and 0 <= plan <= size
    return meta | {"length": length + TAIL.size} if is_sound else None


def list_entries(directory: str | os.PathLike[str]) -> list[Entry]:
    """Return the entries of a directory, the least recently used first; none if it does not exist."""
    found = []
    for path in _list_files(directory):
        with suppress(FileNotFoundError):  # another process has removed it
            found.append(_describe(path))
    return sorted(found, key=lambda entry: entry.used)


def _list_files(directory: str | os.PathLike[str]) -> list[str]:
    try:
        names = os.listdir(directory)
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [
        os.path.join(directory, name) for name in names if len(name) == LETTERS + len(SUFFIX) and name.endswith(SUFFIX)
    ]


def _describe(path: str) -> Entry:
    with open(path, "rb") as file:
        stat = os.fstat(file.fileno())
        content = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) if stat.st_size else b""
    meta = _read_header(memoryview(content))
    try:
        label = Label(**meta["label"]) if meta else None
    except TypeError:
        label = None
    return Entry(path, stat.st_size, stat.st_mtime, label)


def prune(directory: str | os.PathLike[str], limit: int) -> list[Entry]:
    """Remove unfinished files, files of other formats, then the least recently used entries until ``limit`` bytes
    remain. Return the removed entries."""
    remove_abandoned(directory)
    kept = sorted(list_entries(directory), key=lambda entry: (entry.label is not None, entry.used))
    total = sum(entry.size for entry in kept)
    removed = []
    for entry in kept:
        if total <= limit and entry.label is not None:
            break
        with suppress(FileNotFoundError):  # another process has removed it
            os.unlink(entry.path)
        total -= entry.size
        removed.append(entry)
    return removed


def prune_if_full(directory: str | os.PathLike[str], limit: int) -> None:
    """Prune if the directory exceeds ``limit`` bytes; only then are its files read."""
    remove_abandoned(directory)
    total = 0
    for path in _list_files(directory):
        with suppress(FileNotFoundError):
            total += os.stat(path).st_size
    if total > limit:
        prune(directory, limit)
