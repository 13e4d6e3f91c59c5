"""The format of persistent files: writing, validation, pruning.

A file begins with its content, so that an engine can map it. A short text (the plan of a compilation) and a header
follow: file name, purpose, digest of everything. Invalid files (truncated, altered, copied, unreadable) are ignored
with a logged reason and written anew. Files are replaced, never changed, as other processes may have mapped them.
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
"""The end of every file; increase the number with every change of content or format."""
TAIL = struct.Struct(f"<I{len(MAGIC)}s")
FIELDS = {"name", "purpose", "plan", "size", "digest", "label"}
LETTERS = 64
PAIRS = [chr(ord("A") + (byte & 15)) + chr(ord("A") + (byte >> 4)) for byte in range(256)]
SUFFIX = "10"
"""Model cache, file 0: the end of every name, as in the reference runtime."""


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
    """A valid file: purpose, plan (may be empty), content, and the memory that has mapped it, if any."""

    purpose: str
    plan: bytes
    payload: bytes | memoryview
    file: Any = None


class Entry(NamedTuple):
    """A cached file; ``label`` is None if unreadable."""

    path: str
    size: int
    used: float
    label: Label | None


def name_of_key(key: bytes) -> str:
    """Return a file name: two letters for each of the 32 bytes (low half first), kind and number."""
    return "".join([PAIRS[byte] for byte in key]) + SUFFIX


def read_entry(
    path: str | os.PathLike[str], open_mapped: Callable[[str | os.PathLike[str]], Mapped] | None = None
) -> Content | None:
    """Return a file's content; None, with a logged reason, if it is missing or invalid.

    ``open_mapped`` maps a file whose content is used in place; reading is faster for a small one.
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
    """Write a file atomically; OSError if that fails."""
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
    """Return the header at the end of a file, with ``length`` from the header's start on; None for other formats."""
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
    """Return the entries of a directory, the least recently used first; empty without a directory."""
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
    """Remove unfinished and foreign files, then the least recently used entries beyond ``limit`` bytes; return those
    removed."""
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
    """Prune after a write; files are read only if they exceed the limit."""
    remove_abandoned(directory)
    total = 0
    for path in _list_files(directory):
        with suppress(FileNotFoundError):
            total += os.stat(path).st_size
    if total > limit:
        prune(directory, limit)
