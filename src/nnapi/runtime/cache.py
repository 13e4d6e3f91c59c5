"""The compilation cache: what drivers prepared, kept in files between processes.

An entry is found by a key made of the caller's token, the model's content, the device, its driver's version and the
options. Whatever is wrong with a file (truncated, altered, made for something else, unreadable) it is ignored with a
logged reason and written anew; no trouble with the cache ever fails a compilation.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from nnapi.codes import BYTE_SIZE_OF_CACHE_TOKEN
from nnapi.drivers.base import Caches, Prepared, PrepareOptions
from nnapi.errors import BadDataError, UnexpectedNullError, need
from nnapi.model.model import Lifetime, Model
from nnapi.runtime.device import Device

log = logging.getLogger("nnapi.CompilationCache")

MAGIC = b"NNAPI-CACHE-1\n"
SUFFIX = "10"
"""Model cache, file 0: the end of every name, as the reference runtime gives it."""


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
    """A directory and a 32-byte token (``ANeuralNetworksCompilation_setCaching``). The directory may not exist."""

    def __init__(self, directory: str | os.PathLike[str], token: bytes) -> None:
        need(directory is not None and token is not None, "directory or token is None", UnexpectedNullError)
        size = BYTE_SIZE_OF_CACHE_TOKEN
        need(len(token) == size, f"the token has {len(token)} bytes, must have {size}", BadDataError)
        self.directory, self.token = Path(directory), bytes(token)
        self.hits = self.misses = 0

    def prepare(
        self, device: Device, model: Model, options: PrepareOptions, prepare: Callable[[], Prepared]
    ) -> Prepared:
        """The prepared model: restored from its entry, or prepared and kept."""
        driver = device.driver
        if not isinstance(driver, Caches):
            return prepare()
        path = self.directory / self.file_name(device, model, options)
        payload = read_entry(path)
        if payload is not None:
            try:
                restored = driver.restore(model, payload, options)
            except Exception as error:
                log.warning("%s ignored: %s cannot restore it: %s", path, device.name, error)
            else:
                self.hits += 1
                return restored
        self.misses += 1
        prepared = prepare()
        content = driver.cache_entry(prepared)
        if content is not None:
            write_entry(path, Label(model.name, device.name, device.version, time.time()), content)
        return prepared

    def file_name(self, device: Device, model: Model, options: PrepareOptions) -> str:
        """64 letters, two for each byte of the key (low half first), and the kind and number of the file."""
        key = hashlib.sha256(self.token)
        for part in (content_hash(model), device.name, device.version, int(options.preference), int(options.priority)):
            key.update(part if isinstance(part, bytes) else str(part).encode() + b"\0")
        letters = "".join(chr(ord("A") + (byte & 15)) + chr(ord("A") + (byte >> 4)) for byte in key.digest())
        return letters + SUFFIX


def content_hash(model: Model) -> bytes:
    """A digest of everything that decides what the model computes."""
    digest = hashlib.sha256(repr((model.inputs, model.outputs, model.relaxed)).encode())
    for operand in model.operands:
        digest.update(repr((operand.type, operand.lifetime.value)).encode())
        if operand.lifetime == Lifetime.CONSTANT:
            digest.update(operand.value.tobytes() if not operand.value.flags.c_contiguous else operand.value.data)
        elif operand.lifetime == Lifetime.SUBGRAPH:
            digest.update(content_hash(operand.value))
    for call in model.operations:
        digest.update(repr((call.code, call.inputs, call.outputs)).encode())
    return digest.digest()


def read_entry(path: Path) -> bytes | None:
    """The payload of an entry; None, with the reason in the log, where it is missing or not whole."""
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
    return meta if isinstance(meta, dict) and {"size", "sha256", "label"} <= meta.keys() else None


def write_entry(path: Path, label: Label, payload: bytes) -> None:
    """Write an entry so that other processes see it whole or not at all."""
    meta = {"size": len(payload), "sha256": hashlib.sha256(payload).hexdigest(), "label": asdict(label)}
    temporary = None
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".nnapi-", delete=False) as file:
            temporary = file.name
            file.write(MAGIC + json.dumps(meta).encode() + b"\n" + payload)
        os.replace(temporary, path)
    except OSError as error:
        log.warning("%s not written: %s", path, error)
        if temporary is not None and os.path.exists(temporary):
            os.unlink(temporary)


def entries(directory: Path) -> Iterator[Entry]:
    """The entries of a cache directory, the one used longest ago first."""
    files = [path for path in directory.glob(f"*{SUFFIX}") if len(path.name) == 2 * 32 + len(SUFFIX)]
    for path in sorted(files, key=lambda path: path.stat().st_atime):
        stat = path.stat()
        with path.open("rb") as file:
            magic, line = file.read(len(MAGIC)), file.readline(1 << 16)
        meta = _header(line) if magic == MAGIC else None
        yield Entry(path, stat.st_size, stat.st_atime, Label(**meta["label"]) if meta else None)


def prune(directory: Path, limit: int) -> list[Entry]:
    """Remove entries, the one used longest ago first, until ``limit`` bytes are left; gives those removed.

    Files that are no whole entries go first.
    """
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
