"""The compilation cache: what drivers prepared, kept in files between processes.

A file's name is a digest of the caller's token, the operations that a device has of a compound plan, the device, its
driver's version, the options, and the number of threads if the caller chose one. It holds what the driver keeps and the
plan, where one device has all of the model, so that nobody needs to plan again. No trouble with the cache ever fails a
compilation.
"""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from nnapi.codes import BYTE_SIZE_OF_CACHE_TOKEN
from nnapi.drivers.base import CacheEntry, Prepared, PrepareOptions
from nnapi.errors import BadDataError, UnexpectedNullError, need
from nnapi.model.content_hash import hash_content, is_as_hashed
from nnapi.model.memory import Memory, release_pages
from nnapi.model.model import Model
from nnapi.runtime.device import Device
from nnapi.store.digest import digest, sha256
from nnapi.store.entry import Content, Label, mark_used, prune_if_full, read_entry, spell, write_entry
from nnapi.trace.log import Log

log = Log("nnapi.CompilationCache")

LIMIT = 1 << 30
"""Bytes that a directory may hold; what was used longest ago gives way to what is new."""
SHARES = 4
"""Entries that the runtime's own cache has room for at least: a larger one would drive all others out."""

Places = Sequence[tuple[int, int]]
"""The identity of a partition of a compound plan: for each operation the index of its model, the whole being 0, and its
own. Empty for a model that one device has whole."""


class Cache:
    """A directory and a 32-byte token (``ANeuralNetworksCompilation_setCaching``). The directory may not exist.

    After an entry was written the oldest ones are removed until all take at most ``limit`` bytes. One that is the
    runtime's ``own`` was not asked for: trouble with it is not reported, and it keeps decided plans only.
    """

    def __init__(
        self, directory: str | os.PathLike[str], token: bytes, limit: int = LIMIT, *, is_own: bool = False
    ) -> None:
        need(directory is not None and token is not None, "directory or token is None", UnexpectedNullError)
        size = BYTE_SIZE_OF_CACHE_TOKEN
        need(len(token) == size, f"the token has {len(token)} bytes, must have {size}", BadDataError)
        self.directory, self.token, self.limit = os.fspath(directory), bytes(token), limit
        self.is_own = is_own
        self.threads: int | None = None
        """How many the client asks for: part of the names, so that its choices do not drive each other out."""
        self._contents: dict[str, Content | None] = {}
        self._paths: dict[tuple[Any, ...], str] = {}

    def restore(self, device: Device, model: Model, options: PrepareOptions, places: Places = ()) -> Prepared | None:
        """Restore the prepared model from an entry; None, with the reason in the log, where none fits."""
        path, driver = self._path(device, options, places), device.caches
        content = self._read(path)
        if content is None or driver is None:
            return None
        self._contents[path] = None
        if content.purpose != _describe_purpose(model, options):
            log.debug("%s ignored: it was made for another model, or for other options", path)
            return None
        try:
            restored = driver.restore(model, CacheEntry(content.payload, content.file), options)
        except Exception as error:
            log.warning("%s ignored: %s cannot restore it: %s", path, device.name, error)
            return None
        mark_used(path)
        if model.origin is not None:
            model.origin.keep(model)
        return restored

    def recall_plan(self, device: Device, options: PrepareOptions) -> bytes:
        """The plan that was kept with the entry of a device for a whole model; empty where there is none."""
        content = self._read(self._path(device, options))
        return content.plan if content is not None else b""

    def keep(
        self,
        device: Device,
        model: Model,
        options: PrepareOptions,
        prepared: Prepared,
        places: Places = (),
        plan: bytes = b"",
    ) -> None:
        """Write what the device's driver keeps of what it prepared, if anything, and the plan beside it.

        Nothing is written of a model that has changed since :func:`hash_content` was made of it.
        """
        if device.caches is None:
            return
        if not is_as_hashed(model):  # before there is an entry too: together they take the more memory
            log.warning("nothing of %s is kept: it has changed while it was compiled", model.name)
            return
        try:
            payload = device.caches.cache_entry(prepared)
        except Exception as error:
            log.warning("nothing of %s is kept: %s gives no entry: %s", model.name, device.name, error)
            return
        if payload is not None and not (self.is_own and len(payload) * SHARES > self.limit):
            self._write(device, model, options, places, plan, payload)

    def keep_plan(self, device: Device, model: Model, options: PrepareOptions, plan: bytes) -> None:
        """Add the plan to an entry that is there already."""
        path = self._path(device, options)
        self._contents.pop(path, None)
        content = self._read(path)
        if content is not None and content.plan != plan and is_as_hashed(model):
            self._write(device, model, options, (), plan, content.payload)

    def forget(self, device: Device, options: PrepareOptions) -> None:
        """Remove the entry of a device for a whole model, and with it the plan, if there is one."""
        path = self._path(device, options)
        self._contents.pop(path, None)
        with suppress(OSError):
            os.unlink(path)

    def _read(self, path: str) -> Content | None:
        """Return the content of a file, which is read once."""
        if path not in self._contents:
            content = self._contents[path] = read_entry(path, Memory.from_file)
            if content is not None:
                release_pages([content.file.view()])  # the digest has read all of it, an engine will map it again
        return self._contents[path]

    def _write(
        self,
        device: Device,
        model: Model,
        options: PrepareOptions,
        places: Places,
        plan: bytes,
        payload: bytes | memoryview,
    ) -> None:
        path = self._path(device, options, places)
        label = Label(model.name, device.name, device.version, time.time())
        try:
            write_entry(path, label, Content(_describe_purpose(model, options), plan, payload))
            prune_if_full(self.directory, self.limit)
        except OSError as error:
            say = log.info if self.is_own else log.warning
            say("%s not written: %s", path, error)
        self._contents.pop(path, None)
        if model.origin is not None:
            model.origin.keep(model)

    def _path(self, device: Device, options: PrepareOptions, places: Places = ()) -> str:
        asked = device, self.threads, options.preference, options.priority, options.attributes, *places
        if asked not in self._paths:
            self._paths[asked] = os.path.join(self.directory, self.file_name(device, options, places))
        return self._paths[asked]

    def file_name(self, device: Device, options: PrepareOptions, places: Places = ()) -> str:
        """The name of an entry: the SHA-256 of what the reference runtime puts into its own, in the same order."""
        parts = [self.token, *(struct.pack("<ii", *place) for place in places)]
        parts += (device.name.encode(), device.version.encode())
        parts.append(struct.pack("<ii", options.preference, options.priority))
        for name, code, data in options.attributes:
            parts += (name.encode(), struct.pack("<H", code), data)
        if self.threads is not None:  # NNAPI knows no such option
            parts.append(struct.pack("<i", self.threads))
        return spell(sha256(b"".join(parts)))


def _describe_purpose(model: Model, options: PrepareOptions) -> str:
    """Return the purpose of an entry, as far as its name does not tell."""
    return digest(hash_content(model), f"{options.threads!r}{options.variant}".encode()).hex()
