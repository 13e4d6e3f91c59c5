"""The compilation cache: what drivers prepared, kept in files between processes.

A file's name is a digest of the caller's token, the operations that a device has of a compound plan, the device, its
driver's version, the options, and the number of threads if the caller chose one. A file begins with what the driver
keeps, so that an engine can map it as it is; behind that stand the plan, where one device has all of the model
(:mod:`kept`), so that nobody needs to plan again, and a header: the file's own name, a digest of the model, a digest of
everything. Whatever is wrong with a file (truncated, altered, made for another model, copied from elsewhere,
unreadable) it is ignored with a logged reason and written anew; no trouble with the cache ever fails a compilation.
Files are replaced, never changed, as others may have mapped them.
"""

from __future__ import annotations

import json
import logging
import os
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from nnapi.codes import BYTE_SIZE_OF_CACHE_TOKEN
from nnapi.drivers.base import CacheEntry, Prepared, PrepareOptions
from nnapi.errors import BadDataError, NnapiError, UnexpectedNullError, need
from nnapi.model.memory import Memory, give_back
from nnapi.model.model import Model
from nnapi.model.nesting import nested
from nnapi.runtime.device import Device
from nnapi.runtime.planning.plan import Run
from nnapi.runtime.store.digest import content_hash, digest, is_as_hashed, sha256
from nnapi.runtime.store.files import remove_abandoned, replacing

if TYPE_CHECKING:
    from pathlib import Path

log = logging.getLogger("nnapi.CompilationCache")

MAGIC = b"\nNNAPI-CACHE-5\n"
"""The end of every file."""
TAIL = struct.Struct(f"<I{len(MAGIC)}s")
"""Bytes of the header in front of it, and the magic."""
LETTERS = 64
PAIRS = [chr(ord("A") + (byte & 15)) + chr(ord("A") + (byte >> 4)) for byte in range(256)]
"""The two letters for each byte of a key."""
SUFFIX = "10"
"""Model cache, file 0: the end of every name, as the reference runtime gives it."""
LIMIT = 1 << 30
"""Bytes that a directory may hold; what was used longest ago gives way to what is new."""


class Label(NamedTuple):
    """What an entry says of itself, for people and for ``nnapi cache list``."""

    model: str
    device: str
    version: str
    created: float


class Entry(NamedTuple):
    """A file of the cache. ``label`` is None where the file cannot be read."""

    path: Path
    size: int
    used: float
    label: Label | None


class Content(NamedTuple):
    """What a sound file holds: the digest of model and options that it was made for, the plan (empty where none was
    kept), the driver's entry."""

    model: str
    plan: bytes
    entry: CacheEntry


class Cache:
    """A directory and a 32-byte token (``ANeuralNetworksCompilation_setCaching``). The directory may not exist.

    After an entry was written the oldest ones are removed until all take at most ``limit`` bytes.
    """

    def __init__(self, directory: str | os.PathLike[str], token: bytes, limit: int = LIMIT) -> None:
        need(directory is not None and token is not None, "directory or token is None", UnexpectedNullError)
        size = BYTE_SIZE_OF_CACHE_TOKEN
        need(len(token) == size, f"the token has {len(token)} bytes, must have {size}", BadDataError)
        self.directory, self.token, self.limit = os.fspath(directory), bytes(token), limit
        self.threads: int | None = None
        """How many the client asks for: part of the names, so that its choices do not drive each other out."""
        self.hits = self.misses = 0
        self._looked_at: dict[str, Content | None] = {}
        self._paths: dict[tuple[Any, ...], str] = {}

    def prepare(
        self,
        device: Device,
        model: Model,
        options: PrepareOptions,
        prepare: Callable[[], Prepared],
        places: Sequence[tuple[int, int]] = (),
        plan: bytes = b"",
    ) -> Prepared:
        """The prepared model: restored from its entry, or prepared and kept, together with the plan.

        ``places`` tell the parts of a compound plan apart, as :func:`operation_places` gives them.
        """
        driver = device.caches
        if driver is None:
            return prepare()
        restored = self.restore(device, model, options, places)
        if restored is not None:
            if plan:
                self.keep_plan(device, model, options, plan)  # it was prepared for a plan of other devices
            return restored
        self.misses += 1
        content_hash(model)  # of what is prepared now, whatever becomes of the files behind it
        prepared = prepare()
        payload = driver.cache_entry(prepared)
        if payload is not None:
            self._write(device, model, options, places, plan, CacheEntry(payload))
        return prepared

    def restore(
        self, device: Device, model: Model, options: PrepareOptions, places: Sequence[tuple[int, int]] = ()
    ) -> Prepared | None:
        """What an entry says is prepared; None, with the reason in the log, where there is none that will do."""
        path, driver = self._path(device, options, places), device.caches
        content = self._content(path)
        if content is None or driver is None:
            return None
        self._looked_at[path] = None
        if content.model != _key(model, options):
            log.warning("%s ignored: it was made for another model, or for other options", path)
            return None
        try:
            restored = driver.restore(model, content.entry, options)
        except Exception as error:
            log.warning("%s ignored: %s cannot restore it: %s", path, device.name, error)
            return None
        self.hits += 1
        _mark_used(path)
        if model.origin is not None:
            model.origin.keep(model)
        return restored

    def plan(self, device: Device, options: PrepareOptions) -> bytes:
        """The plan that was kept with the entry of a device for a whole model; empty where there is none."""
        content = self._content(self._path(device, options))
        return content.plan if content is not None else b""

    def keep_plan(self, device: Device, model: Model, options: PrepareOptions, plan: bytes) -> None:
        """Add the plan to an entry that is there already."""
        path = self._path(device, options)
        self._looked_at.pop(path, None)
        content = self._content(path)
        if content is not None and content.plan != plan:
            self._write(device, model, options, (), plan, content.entry)

    def _content(self, path: str) -> Content | None:
        """What a file holds, read once."""
        if path not in self._looked_at:
            self._looked_at[path] = read_entry(path)
        return self._looked_at[path]

    def _write(
        self,
        device: Device,
        model: Model,
        options: PrepareOptions,
        places: Sequence[tuple[int, int]],
        plan: bytes,
        entry: CacheEntry,
    ) -> None:
        path = self._path(device, options, places)
        if not is_as_hashed(model):
            log.warning("%s not written: %s has changed while it was compiled", path, model.name)
            return
        label = Label(model.name, device.name, device.version, time.time())
        write_entry(path, label, Content(_key(model, options), plan, entry))
        self._looked_at.pop(path, None)
        if model.origin is not None:
            model.origin.keep(model)
        try:
            from pathlib import Path  # half a megabyte that only those who write need

            prune(Path(self.directory), self.limit)
        except OSError as error:
            log.warning("%s not pruned: %s", self.directory, error)

    def _path(self, device: Device, options: PrepareOptions, places: Sequence[tuple[int, int]] = ()) -> str:
        asked = device, self.threads, options.preference, options.priority, options.attributes, *places
        if asked not in self._paths:
            self._paths[asked] = os.path.join(self.directory, self.file_name(device, options, places))
        return self._paths[asked]

    def file_name(self, device: Device, options: PrepareOptions, places: Sequence[tuple[int, int]] = ()) -> str:
        """64 letters, two for each byte of the key (low half first), and the kind and number of the file.

        The key is the SHA-256 of what the reference runtime puts into its own, in the same order.
        """
        parts = [self.token, *(struct.pack("<ii", *place) for place in places)]
        parts += (device.name.encode(), device.version.encode())
        parts.append(struct.pack("<ii", options.preference, options.priority))
        for name, code, data in options.attributes:
            parts += (name.encode(), struct.pack("<H", code), data)
        if self.threads is not None:  # NNAPI knows no such option
            parts.append(struct.pack("<i", self.threads))
        return "".join([PAIRS[byte] for byte in sha256(b"".join(parts))]) + SUFFIX


class Place(NamedTuple):
    """Where the preparation of one part of a plan is kept."""

    cache: Cache
    places: Sequence[tuple[int, int]]
    plan: bytes = b""

    def prepare(
        self, device: Device, model: Model, options: PrepareOptions, prepare: Callable[[], Prepared]
    ) -> Prepared:
        return self.cache.prepare(device, model, options, prepare, self.places, self.plan)


def operation_places(whole: Model, source: Model, run: Run) -> Sequence[tuple[int, int]]:
    """For each operation of a part of a compound plan the index of its model and its own; none for a simple plan.

    Models are counted from the whole on, each followed by those that it refers to.
    """
    if run.model is whole:
        return ()
    index = nested(whole)[::-1].index(source)
    return [(index, number) for number in run.operations]


def _key(model: Model, options: PrepareOptions) -> str:
    """What an entry is for, as far as its name does not say."""
    return digest(content_hash(model), repr(options.threads).encode()).hex()


def read_entry(path: str | Path) -> Content | None:
    """What a file holds; None, with the reason in the log, where there is none or it is not as it was written."""
    try:
        memory = Memory.from_file(path)
        data = _bytes(memory)
    except FileNotFoundError:
        return None
    except (OSError, NnapiError) as error:
        log.warning("%s ignored: %s", path, error)
        return None
    meta = _header(data)
    reason = _unfit(path, meta, data)
    if reason is not None or meta is None:
        log.warning("%s ignored: %s", path, reason)
        return None
    give_back([memory.view()])  # the digest has read all of it, an engine will map it again
    plan, size = meta["plan"], meta["size"]
    return Content(meta["model"], bytes(data[size - plan : size]), CacheEntry(data[: size - plan], memory))


def _bytes(memory: Memory) -> memoryview:
    return memory.view().data if memory.size else memoryview(b"")


def _unfit(path: str | Path, meta: dict[str, Any] | None, data: memoryview) -> str | None:
    """Why a file with that header is not to be used."""
    if meta is None:
        return "it is no entry of this cache's format"
    if meta["name"] != os.path.basename(path):
        return f"it was written as {meta['name']}"
    size, plan = len(data) - meta["length"], meta["plan"]
    if meta["size"] != size:
        return f"{size} bytes where {meta['size']} were written"
    if meta["digest"] != digest(_told(meta), data[size - plan : size], data[: size - plan]).hex():
        return "its content has changed since it was written"
    return None


def _told(meta: dict[str, Any]) -> bytes:
    """What a header says of the content, for the digest that stands beside it."""
    return repr((meta["name"], meta["model"], meta["plan"])).encode()


def _header(data: memoryview) -> dict[str, Any] | None:
    """The header at the end of a file, with the bytes that it and what follows take as ``length``; None for a file of
    another kind."""
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
    if not isinstance(meta, dict) or not meta.keys() >= {"name", "model", "plan", "size", "digest", "label"}:
        return None
    plan, size = meta["plan"], meta["size"]
    is_sound = isinstance(plan, int) and isinstance(size, int) and 0 <= plan <= size
    return meta | {"length": length + TAIL.size} if is_sound else None


def write_entry(path: str | Path, label: Label, content: Content) -> None:
    """Write an entry so that other processes see it whole or not at all."""
    plan, payload = content.plan, content.entry.content
    meta = {"name": os.path.basename(path), "model": content.model, "plan": len(plan), "size": len(plan) + len(payload)}
    meta |= {"digest": digest(_told(meta), plan, payload).hex(), "label": label._asdict()}
    header = json.dumps(meta).encode()
    try:
        with replacing(path) as file:
            file.writelines((payload, plan, header, TAIL.pack(len(header), MAGIC)))
    except OSError as error:
        log.warning("%s not written: %s", path, error)


def _mark_used(path: str) -> None:
    """Set the time of the last use; file systems do not do it at every reading."""
    try:
        os.utime(path)
    except OSError as error:
        log.debug("%s not marked as used: %s", path, error)


def entries(directory: Path) -> Iterator[Entry]:
    """The entries of a cache directory, the one used longest ago first."""
    found = []
    for path in directory.glob(f"*{SUFFIX}"):
        if len(path.name) == LETTERS + len(SUFFIX):
            try:
                found.append(_entry(path))
            except FileNotFoundError:
                continue  # another process has removed it
    yield from sorted(found, key=lambda entry: entry.used)


def _entry(path: Path) -> Entry:
    with Memory.from_file(path) as memory:
        meta = _header(_bytes(memory))
    try:
        label = Label(**meta["label"]) if meta else None
    except TypeError:
        label = None
    stat = path.stat()
    return Entry(path, stat.st_size, stat.st_mtime, label)


def prune(directory: Path, limit: int) -> list[Entry]:
    """Remove entries, the one used longest ago first, until at most ``limit`` bytes are left; gives those removed.

    Files that are no entries of this format go in any case, and so does what writers left unfinished.
    """
    remove_abandoned(directory)
    kept = sorted(entries(directory), key=lambda entry: (entry.label is not None, entry.used))
    total = sum(entry.size for entry in kept)
    removed = []
    for entry in kept:
        if total <= limit and entry.label is not None:
            break
        entry.path.unlink(missing_ok=True)
        total -= entry.size
        removed.append(entry)
    return removed
