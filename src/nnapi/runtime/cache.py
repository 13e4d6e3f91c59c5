"""The compilation cache: what drivers prepared, kept in files between processes.

A file's name is a digest of the caller's token, the operations that a device has of a compound plan, the device, its
driver's version and the options; in the file stand its own name and a digest of the model. Whatever is wrong with a
file (truncated, altered, made for another model, copied from elsewhere, unreadable) it is ignored with a logged reason
and written anew; no trouble with the cache ever fails a compilation.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from nnapi.codes import BYTE_SIZE_OF_CACHE_TOKEN
from nnapi.drivers.base import Caches, Prepared, PrepareOptions
from nnapi.errors import BadDataError, UnexpectedNullError, need
from nnapi.model.extension import EXTENSIONS
from nnapi.model.model import Lifetime, Model
from nnapi.runtime.device import Device
from nnapi.runtime.plan import Run

log = logging.getLogger("nnapi.CompilationCache")

MAGIC = b"NNAPI-CACHE-2\n"
SUFFIX = "10"
"""Model cache, file 0: the end of every name, as the reference runtime gives it."""
LIMIT = 1 << 30
"""Bytes that a directory may hold; what was used longest ago gives way to what is new."""
ABANDONED = 3600
"""Seconds after which an unfinished file is one that its writer did not live to finish."""
UNFINISHED = ".nnapi-"


@dataclass(frozen=True)
class Label:
    """What an entry says of itself, for people and for ``nnapi cache list``."""

    model: str
    device: str
    version: str
    created: float


@dataclass(frozen=True)
class Entry:
    """A file of the cache. ``label`` is None where the file cannot be read."""

    path: Path
    size: int
    used: float
    label: Label | None


class Cache:
    """A directory and a 32-byte token (``ANeuralNetworksCompilation_setCaching``). The directory may not exist.

    After an entry was written the oldest ones are removed until all take at most ``limit`` bytes.
    """

    def __init__(self, directory: str | os.PathLike[str], token: bytes, limit: int = LIMIT) -> None:
        need(directory is not None and token is not None, "directory or token is None", UnexpectedNullError)
        size = BYTE_SIZE_OF_CACHE_TOKEN
        need(len(token) == size, f"the token has {len(token)} bytes, must have {size}", BadDataError)
        self.directory, self.token, self.limit = Path(directory), bytes(token), limit
        self.hits = self.misses = 0

    def prepare(
        self,
        device: Device,
        model: Model,
        options: PrepareOptions,
        prepare: Callable[[], Prepared],
        places: Sequence[tuple[int, int]] = (),
    ) -> Prepared:
        """The prepared model: restored from its entry, or prepared and kept.

        ``places`` tell the parts of a compound plan apart, as :func:`operation_places` gives them.
        """
        driver = device.driver
        if not isinstance(driver, Caches):
            return prepare()
        path = self.directory / self.file_name(device, options, places)
        digest = hashlib.sha256(content_hash(model) + repr(options.threads).encode()).hexdigest()
        payload = read_entry(path, digest)
        if payload is not None:
            try:
                restored = driver.restore(model, payload, options)
            except Exception as error:
                log.warning("%s ignored: %s cannot restore it: %s", path, device.name, error)
            else:
                self.hits += 1
                _mark_used(path)
                return restored
        self.misses += 1
        prepared = prepare()
        content = driver.cache_entry(prepared)
        if content is not None:
            write_entry(path, digest, Label(model.name, device.name, device.version, time.time()), content)
            self._make_room()
        return prepared

    def file_name(self, device: Device, options: PrepareOptions, places: Sequence[tuple[int, int]] = ()) -> str:
        """64 letters, two for each byte of the key (low half first), and the kind and number of the file.

        The key is the SHA-256 of what the reference runtime puts into its own, in the same order.
        """
        key = hashlib.sha256(self.token)
        for place in places:
            key.update(struct.pack("<ii", *place))
        key.update(device.name.encode() + device.version.encode())
        key.update(struct.pack("<ii", options.preference, options.priority))
        for name, code, data in options.attributes:
            key.update(name.encode() + struct.pack("<H", code) + data)
        letters = "".join(chr(ord("A") + (byte & 15)) + chr(ord("A") + (byte >> 4)) for byte in key.digest())
        return letters + SUFFIX

    def _make_room(self) -> None:
        try:
            prune(self.directory, self.limit)
        except OSError as error:
            log.warning("%s not pruned: %s", self.directory, error)


@dataclass(frozen=True)
class Place:
    """Where the preparation of one part of a plan is kept."""

    cache: Cache
    places: Sequence[tuple[int, int]]

    def prepare(
        self, device: Device, model: Model, options: PrepareOptions, prepare: Callable[[], Prepared]
    ) -> Prepared:
        return self.cache.prepare(device, model, options, prepare, self.places)


def operation_places(whole: Model, source: Model, run: Run) -> Sequence[tuple[int, int]]:
    """For each operation of a part of a compound plan the index of its model and its own; none for a simple plan.

    Models are counted from the whole on, each followed by those that it refers to.
    """
    if run.model is whole:
        return ()
    index = _models(whole).index(source)
    return [(index, number) for number in run.operations]


def _models(model: Model) -> list[Model]:
    found = [model]
    for operand in model.operands:
        if operand.lifetime == Lifetime.SUBGRAPH:
            found += _models(operand.value)
    return found


def content_hash(model: Model) -> bytes:
    """A digest of everything that decides what the model computes."""
    digest = hashlib.sha256(repr((model.inputs, model.outputs, model.relaxed)).encode())
    for operand in model.operands:
        digest.update(repr((_code(operand.type.code), replace(operand.type, code=0), operand.lifetime.value)).encode())
        if operand.lifetime == Lifetime.CONSTANT:
            digest.update(operand.value.tobytes() if not operand.value.flags.c_contiguous else operand.value.data)
        elif operand.lifetime == Lifetime.SUBGRAPH:
            digest.update(content_hash(operand.value))
    for call in model.operations:
        digest.update(repr((_code(call.code), call.inputs, call.outputs)).encode())
    return digest.digest()


def _code(code: int) -> tuple[str | None, int]:
    """A type's number so that it means the same in every process: prefixes of extensions do not."""
    extension = EXTENSIONS.name(code)
    return (extension, code & 0xFFFF) if extension else (None, int(code))


def read_entry(path: Path, digest: str) -> bytes | None:
    """The payload of an entry for a model of that digest; None, with the reason in the log, where there is none."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        log.warning("%s ignored: %s", path, error)
        return None
    header, _, payload = data.removeprefix(MAGIC).partition(b"\n")
    meta = _header(header) if data.startswith(MAGIC) else None
    if meta is None:
        log.warning("%s ignored: it is no entry of this cache's format", path)
    elif meta["name"] != path.name:
        log.warning("%s ignored: it was written as %s", path, meta["name"])
    elif meta["model"] != digest:
        log.warning("%s ignored: it was made for another model, or for other options", path)
    elif meta["size"] != len(payload):
        log.warning("%s ignored: %d bytes where %d were written", path, len(payload), meta["size"])
    elif meta["sha256"] != hashlib.sha256(payload).hexdigest():
        log.warning("%s ignored: its content has changed since it was written", path)
    else:
        return payload
    return None


def _header(line: bytes) -> dict[str, Any] | None:
    try:
        meta = json.loads(line)
    except ValueError:
        return None
    return meta if isinstance(meta, dict) and {"name", "model", "size", "sha256", "label"} <= meta.keys() else None


def write_entry(path: Path, digest: str, label: Label, payload: bytes) -> None:
    """Write an entry so that other processes see it whole or not at all."""
    meta = {
        "name": path.name, "model": digest, "size": len(payload), "sha256": hashlib.sha256(payload).hexdigest(),
        "label": asdict(label),
    }  # fmt: skip
    temporary = None
    import tempfile  # with what it needs, 4 ms

    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=UNFINISHED, delete=False) as file:
            temporary = file.name
            file.write(MAGIC + json.dumps(meta).encode() + b"\n" + payload)
        os.replace(temporary, path)
    except OSError as error:
        log.warning("%s not written: %s", path, error)
        if temporary is not None and os.path.exists(temporary):
            os.unlink(temporary)


def _mark_used(path: Path) -> None:
    """Set the time of the last use; file systems do not do it at every reading."""
    try:
        os.utime(path)
    except OSError as error:
        log.debug("%s not marked as used: %s", path, error)


def entries(directory: Path) -> Iterator[Entry]:
    """The entries of a cache directory, the one used longest ago first."""
    found = []
    for path in directory.glob(f"*{SUFFIX}"):
        if len(path.name) == 2 * hashlib.sha256().digest_size + len(SUFFIX):
            try:
                found.append(_entry(path))
            except FileNotFoundError:
                continue  # another process has removed it
    yield from sorted(found, key=lambda entry: entry.used)


def _entry(path: Path) -> Entry:
    with path.open("rb") as file:
        stat = os.fstat(file.fileno())
        magic, line = file.read(len(MAGIC)), file.readline(1 << 16)
    meta = _header(line) if magic == MAGIC else None
    try:
        label = Label(**meta["label"]) if meta else None
    except TypeError:
        label = None
    return Entry(path, stat.st_size, stat.st_mtime, label)


def prune(directory: Path, limit: int) -> list[Entry]:
    """Remove entries, the one used longest ago first, until at most ``limit`` bytes are left; gives those removed.

    Files that are no entries of this format go in any case, and so does what writers left unfinished.
    """
    _remove_abandoned(directory)
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


def _remove_abandoned(directory: Path) -> None:
    for path in directory.glob(f"{UNFINISHED}*"):
        try:
            if time.time() - path.stat().st_mtime > ABANDONED:
                path.unlink()
        except FileNotFoundError:
            continue  # its writer has finished it, or another process has removed it
