"""The compilation cache: files with a driver's payload, and the plan of a whole model. No error of the cache fails a
compilation."""

import os
import struct
import time
from collections.abc import Sequence
from contextlib import suppress

from nnapi.codes import BYTE_SIZE_OF_CACHE_TOKEN
from nnapi.drivers.base import CacheEntry, Prepared, PrepareOptions
from nnapi.errors import BadDataError, UnexpectedNullError, need
from nnapi.model.content_hash import hash_content, is_as_hashed
from nnapi.model.memory import Memory, release_pages
from nnapi.model.model import Model
from nnapi.runtime.device import Device
from nnapi.runtime.settings import is_tuning
from nnapi.store.code_version import find_last_change
from nnapi.store.digest import digest, sha256
from nnapi.store.directories import RecordKind, directory_of
from nnapi.store.entry import Content, Label, mark_used, name_of_key, prune_if_full, read_entry, write_entry
from nnapi.store.files import make_directory
from nnapi.trace.log import Log

log = Log("nnapi.CompilationCache")

LIMIT = 1 << 30
"""Bytes of a directory; the entries used longest ago are removed."""
OWN_LIMIT = 1 << 28
"""Bytes of the runtime's own cache, in the user's cache directory, for models from files while tuning is on."""
SHARES = 4
"""Entries that fit into the runtime's own cache at least; a larger one is not cached."""

OperationIndices = Sequence[tuple[int, int]]
"""The identity of a partition: the index of its model (the whole is 0) and its number, for each operation. Empty for a
whole model."""

CacheLocation = str | os.PathLike[str] | tuple[str | os.PathLike[str], bytes] | bool
"""A directory, or a directory and a token; True for the runtime's own, False for none."""


class Cache:
    """A directory, which may not exist, and a 32-byte token (``ANeuralNetworksCompilation_setCaching``). Errors of the
    runtime's own cache are not reported."""

    def __init__(self, directory: str | os.PathLike[str], token: bytes, *, is_own: bool = False) -> None:
        need(directory is not None and token is not None, "directory or token is None", UnexpectedNullError)
        size = BYTE_SIZE_OF_CACHE_TOKEN
        need(len(token) == size, f"the token has {len(token)} bytes, must have {size}", BadDataError)
        self.directory, self.token, self.is_own = os.fspath(directory), bytes(token), is_own
        self.limit = OWN_LIMIT if is_own else LIMIT
        self.threads: int | None = None
        """The client's number of threads, part of the names."""
        self._contents: dict[str, Content | None] = {}

    def restore(
        self, device: Device, model: Model, options: PrepareOptions, operations: OperationIndices = ()
    ) -> Prepared | None:
        """Restore the prepared model from an entry; None, with a log message, where none fits."""
        path, driver = self._path(device, options, operations), device.caches
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
        """Return the plan in the entry of a device for a whole model; empty where there is none."""
        content = self._read(self._path(device, options))
        return content.plan if content is not None else b""

    def keep(
        self,
        device: Device,
        model: Model,
        options: PrepareOptions,
        prepared: Prepared,
        operations: OperationIndices = (),
        plan: bytes = b"",
    ) -> None:
        """Write the driver's payload of a prepared model, if it has any, and the plan, unless the model has changed."""
        if device.caches is None:
            return
        if not is_as_hashed(model):  # before the payload, which takes memory too, is made
            log.warning("nothing of %s is kept: it has changed while it was compiled", model.name)
            return
        try:
            payload = device.caches.cache_entry(prepared)
        except Exception as error:
            log.warning("nothing of %s is kept: %s gives no entry: %s", model.name, device.name, error)
            return
        if payload is not None and not (self.is_own and len(payload) * SHARES > self.limit):
            content = Content(_describe_purpose(model, options), plan, payload)
            self._write(self._path(device, options, operations), device, model, content)

    def keep_plan(self, device: Device, model: Model, options: PrepareOptions, plan: bytes) -> None:
        path = self._path(device, options)
        self._contents.pop(path, None)
        content = self._read(path)
        if content is not None and content.plan != plan and is_as_hashed(model):
            self._write(path, device, model, Content(_describe_purpose(model, options), plan, content.payload))

    def forget(self, device: Device, options: PrepareOptions) -> None:
        """Remove the entry of a device for a whole model, and its plan."""
        path = self._path(device, options)
        self._contents.pop(path, None)
        with suppress(OSError):
            os.unlink(path)

    def _read(self, path: str) -> Content | None:
        if path not in self._contents:
            content = self._contents[path] = read_entry(path, Memory.from_file)
            if content is not None:
                release_pages([content.file.view()])  # the digest has read all of it; an engine maps it again
        return self._contents[path]

    def _write(self, path: str, device: Device, model: Model, content: Content) -> None:
        label = Label(model.name, device.name, device.version, time.time())
        try:
            write_entry(path, label, content)
            prune_if_full(self.directory, self.limit)
        except OSError as error:
            say = log.info if self.is_own else log.warning
            is_missing = not os.path.isdir(self.directory)
            say("%s not written: %s", path, "the directory does not exist" if is_missing else error)
        self._contents.pop(path, None)
        if model.origin is not None:
            model.origin.keep(model)

    def _path(self, device: Device, options: PrepareOptions, operations: OperationIndices = ()) -> str:
        return os.path.join(self.directory, self.file_name(device, options, operations))

    def file_name(self, device: Device, options: PrepareOptions, operations: OperationIndices = ()) -> str:
        """Return the name of an entry: the SHA-256 of the same values as in Android's runtime, in the same order."""
        parts = [self.token, *(struct.pack("<ii", *identity) for identity in operations)]
        parts += (device.name.encode(), device.version.encode())
        parts.append(struct.pack("<ii", options.preference, options.priority))
        for name, code, data in options.attributes:
            parts += (name.encode(), struct.pack("<H", code), data)
        if self.threads is not None:  # not an option of NNAPI
            parts.append(struct.pack("<i", self.threads))
        return name_of_key(sha256(b"".join(parts)))


def _describe_purpose(model: Model, options: PrepareOptions) -> str:
    """Return the part of an entry's purpose that its name lacks."""
    return digest(hash_content(model), f"{options.threads!r}{options.variant}".encode()).hex()


def open_cache(model: Model, given: CacheLocation | None) -> Cache | None:
    """Open the given cache, its directory made if necessary, else the runtime's own."""
    if isinstance(given, tuple):
        return Cache(*given)
    model.need_mapped()
    if given is None or isinstance(given, bool):
        wanted = given or (given is None and model.origin is not None)
        return open_own_cache(model) if wanted and is_tuning() else None
    make_directory(given)
    return Cache(given, hash_content(model))


def open_own_cache(model: Model) -> Cache | None:
    """Open the runtime's own cache for a model; None where its directory cannot be made."""
    directory = directory_of(RecordKind.PREPARED)
    try:
        make_directory(directory)
    except OSError:
        return None
    return Cache(directory, digest(hash_content(model), find_last_change()), is_own=True)
