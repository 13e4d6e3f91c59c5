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
from nnapi.store.digest import SUFFIX, digest
from nnapi.store.files import find_foreign_writer, open_regular, remove_abandoned, replace_file
from nnapi.trace.log import Log

log = Log("nnapi.CompilationCache")

MAGIC = b"\nNNAPI-CACHE-6\n"
"""The last bytes of every file. Increase the number with every change of content or format."""
TAIL = struct.Struct(f"<I{len(MAGIC)}s")
FIELDS = {"name": str, "purpose": str, "plan": int, "size": int, "digest": str}
"""The types of the header's values that a reader needs."""
LABEL = {"model": str, "device": str, "version": str, "created": (int, float)}
MOST_HEADER = 1 << 20
MOST_READ = 64 << 20
"""Maximum bytes of a file that is read instead of mapped."""
MOST_NAME = 1000
"""Maximum characters of the names in a label."""
LETTERS = 64


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
            data = memory.view().data if memory.size and reason is None else memoryview(b"")
        else:
            reason, data = _read_file(path)
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


def _read_file(path: str | os.PathLike[str]) -> tuple[str | None, memoryview]:
    """Return why a file must not be used, and its content."""
    with open(open_regular(path), "rb", buffering=0) as file:
        status = os.fstat(file.fileno())
        reason = find_foreign_writer(status)
        if reason is None and status.st_size > MOST_READ:
            reason = f"it has {status.st_size} bytes, at most {MOST_READ} are possible"
        return reason, memoryview(file.read(MOST_READ) if reason is None else b"")


def write_entry(path: str | os.PathLike[str], label: Label, content: Content) -> None:
    """Write a file atomically; raise OSError if that fails."""
    plan, payload = content.plan, content.payload
    meta = {"name": os.path.basename(path), "purpose": content.purpose}
    meta |= {"plan": len(plan), "size": len(plan) + len(payload)}  # type: ignore[dict-item]
    model, device, version = (str(name)[:MOST_NAME] for name in (label.model, label.device, label.version))
    names = Label(model, device, version, label.created)
    header = json.dumps(meta | {"digest": _sign(meta, plan, payload), "label": names._asdict()}).encode()
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
    if magic != MAGIC or length > min(end, MOST_HEADER):
        return None
    try:
        meta = json.loads(bytes(data[end - length : end]))
    except (ValueError, RecursionError):
        return None
    is_sound = _has_types(meta, FIELDS) and 0 <= meta["plan"] <= meta["size"]
    return meta | {"length": length + TAIL.size} if is_sound else None


def _has_types(found: Any, types: dict[str, Any]) -> bool:
    return isinstance(found, dict) and all(isinstance(found.get(name), type) for name, type in types.items())


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
    """Describe a file; an unreadable one, such as a FIFO, has no label. FileNotFoundError if it is missing."""
    status = os.lstat(path)
    try:
        label = _read_label(path)
    except OSError as error:  # also for a broken link
        log.debug("%s has no label: %s", path, error)
        label = None
    return Entry(path, status.st_size, status.st_mtime, label)


def _read_label(path: str) -> Label | None:
    with open(open_regular(path), "rb") as file:
        status = os.fstat(file.fileno())
        if find_foreign_writer(status) or not status.st_size:
            return None
        content = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    meta = _read_header(memoryview(content))
    found: Any = meta.get("label") if meta else None
    return Label(*map(found.get, LABEL)) if _has_types(found, LABEL) else None


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
            total += os.lstat(path).st_size
    if total > limit:
        prune(directory, limit)
