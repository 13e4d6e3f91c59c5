"""The compilation cache: files with the payload of a driver and, for a whole model, the plan. Errors of the cache never
fail a compilation."""

import os
import struct
import time
from collections.abc import Sequence
from contextlib import suppress

from nnapi.codes import BYTE_SIZE_OF_CACHE_TOKEN
from nnapi.contract.driver import CacheEntry, Prepared, PrepareOptions
from nnapi.contract.winograd import describe_costs, is_winograd
from nnapi.errors import BadDataError, UnexpectedNullError, need
from nnapi.model.content_hash import hash_content, is_as_hashed
from nnapi.model.memory import Memory, release_pages
from nnapi.model.model import Model, constants
from nnapi.model.nesting import list_nested
from nnapi.runtime.device import Device
from nnapi.runtime.settings import is_tuning
from nnapi.store.code_version import find_last_change
from nnapi.store.digest import digest, name_of_key, sha256
from nnapi.store.directories import RecordKind, directory_of
from nnapi.store.entry import Content, Label, mark_used, prune_if_full, read_entry, write_entry
from nnapi.store.failed_writes import note_failed_write
from nnapi.store.files import make_directory
from nnapi.trace.log import Log

log = Log("nnapi.CompilationCache")

LIMIT = 1 << 30
"""Maximum bytes of a cache directory; the least recently used entries are removed."""
OWN_LIMIT = 1 << 28
"""Maximum bytes of the runtime's own cache, by default used for models from files while tuning is on."""
SHARES, WINOGRAD_SHARES = 4, 2
"""The runtime's own cache stores an entry only if at least this many of its size fit. Those of Winograd variants have
larger filters."""

OperationIndices = Sequence[tuple[int, int]]
"""The identity of a partition: for each operation, the index of its model (0 for the main model) and its number. Empty
for a whole model."""

CacheLocation = str | os.PathLike[str] | tuple[str | os.PathLike[str], bytes] | bool
"""A directory, or a directory and a token; True for the runtime's own cache, False for no cache."""


class Cache:
    """A directory, which may be missing, and a 32-byte token (``ANeuralNetworksCompilation_setCaching``). Failed writes
    to the runtime's own cache are logged as information only."""

    def __init__(self, directory: str | os.PathLike[str], token: bytes, *, is_own: bool = False) -> None:
        need(directory is not None and token is not None, "directory or token is None", UnexpectedNullError)
        size = BYTE_SIZE_OF_CACHE_TOKEN
        need(len(token) == size, f"the token has {len(token)} bytes, must have {size}", BadDataError)
        self.directory, self.token, self.is_own = os.fspath(directory), bytes(token), is_own
        self.limit = OWN_LIMIT if is_own else LIMIT
        self.threads: int | None = None
        """Number of threads set by the client. It is part of the file names."""
        self._contents: dict[str, Content | None] = {}

    def restore(
        self, device: Device, model: Model, options: PrepareOptions, operations: OperationIndices = ()
    ) -> Prepared | None:
        """Restore the prepared model from its entry; return None if there is no entry that fits, and log why."""
        path = self._path(device, options, operations)
        content = self._read(path)
        if content is None or device.caches is None:
            return None
        self._contents[path] = None
        if content.purpose != _describe_purpose(model, options):
            log.debug("%s ignored: it was made for another model, or for other options", path)
            return None
        try:
            restored = device.adapter.restore(model, CacheEntry(content.payload, content.file), options)
        except Exception as error:
            log.warning("%s ignored: %s cannot restore it: %s", path, device.name, error)
            return None
        mark_used(path)
        if model.origin is not None:
            model.origin.keep(model)
        return restored

    def recall_plan(self, device: Device, options: PrepareOptions) -> bytes:
        """Return the plan cached for a whole model on a device; empty if there is none."""
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
        """Write the driver's payload of a prepared model, and the plan; nothing if the model has changed."""
        if device.caches is None or (device.caches_constants and self._is_too_large(count_bytes(model), options)):
            return
        if not is_as_hashed(model):  # first, because the payload takes memory
            log.warning("%s is not cached: it changed while it was compiled", model.name)
            return
        try:
            payload = device.caches.cache_entry(prepared)
        except Exception as error:
            log.warning("%s is not cached: %s cannot write an entry: %s", model.name, device.name, error)
            return
        if payload is not None and not self._is_too_large(len(payload), options):
            content = Content(_describe_purpose(model, options), plan, payload)
            self._write(self._path(device, options, operations), device, model, content)

    def keep_plan(self, device: Device, model: Model, options: PrepareOptions, plan: bytes) -> None:
        path = self._path(device, options)
        self._contents.pop(path, None)
        content = self._read(path)
        if content is not None and content.plan != plan and is_as_hashed(model):
            self._write(path, device, model, Content(_describe_purpose(model, options), plan, content.payload))

    def forget(self, device: Device, options: PrepareOptions) -> None:
        """Remove a device's entry for the whole model, with its plan."""
        path = self._path(device, options)
        self._contents.pop(path, None)
        with suppress(OSError):
            os.unlink(path)

    def _is_too_large(self, size: int, options: PrepareOptions) -> bool:
        """Return whether an entry of this many bytes would take too large a share of the runtime's own cache."""
        shares = WINOGRAD_SHARES if is_winograd(options.variant) else SHARES
        return self.is_own and size * shares > self.limit

    def _read(self, path: str) -> Content | None:
        if path not in self._contents:
            content = self._contents[path] = read_entry(path, Memory.from_file)
            if content is not None:
                release_pages([content.file.view()])  # the digest has read every page; an engine maps the file again
        return self._contents[path]

    def _write(self, path: str, device: Device, model: Model, content: Content) -> None:
        label = Label(model.name, device.name, device.version, time.time())
        try:
            write_entry(path, label, content)
            prune_if_full(self.directory, self.limit)
        except OSError as error:
            note_failed_write(error)
            say = log.info if self.is_own else log.warning
            is_missing = not os.path.isdir(self.directory)
            say("%s not written: %s", path, "the directory does not exist" if is_missing else error)
        self._contents.pop(path, None)
        if model.origin is not None:
            model.origin.keep(model)

    def _path(self, device: Device, options: PrepareOptions, operations: OperationIndices = ()) -> str:
        return os.path.join(self.directory, self.file_name(device, options, operations))

    def file_name(self, device: Device, options: PrepareOptions, operations: OperationIndices = ()) -> str:
        """Return the name of an entry: the SHA-256 of the values that Android's runtime hashes, in the same order."""
        parts = [self.token, *(struct.pack("<ii", *identity) for identity in operations)]
        parts += (device.name.encode(), device.version.encode())
        parts.append(struct.pack("<ii", options.preference, options.priority))
        for name, code, data in options.attributes:
            parts += (name.encode(), struct.pack("<H", code), data)
        if self.threads is not None:  # not an option of NNAPI
            parts.append(struct.pack("<i", self.threads))
        return name_of_key(sha256(b"".join(parts)))


def count_bytes(model: Model) -> int:
    """Return the bytes of a model's constants, with those of nested models."""
    return sum(value.nbytes for each in list_nested(model) for value in constants(each))


def _describe_purpose(model: Model, options: PrepareOptions) -> str:
    """Return the digest that an entry stores as its purpose: model, threads and variant, which its name lacks, and the
    processor, as the layers of a Winograd variant and some lowered operations depend on it."""
    return digest(hash_content(model), f"{options.threads!r}{options.variant}{describe_costs()}".encode()).hex()


def locate_variant(cache: Cache | None, variant: bytes) -> CacheLocation:
    """Return where a variant of a model is cached, beside the model's ``cache``; False if it has no name."""
    if cache is None or not variant:
        return False
    return True if cache.is_own else (cache.directory, digest(cache.token, variant))


def open_cache(model: Model, given: CacheLocation | None) -> Cache | None:
    """Open the cache at a directory, which is made if missing, or the runtime's own; return None for no cache."""
    if isinstance(given, tuple):
        need(len(given) == 2, f"cache has {len(given)} items, must be a directory and a token", BadDataError)
        return Cache(*given)
    model.need_mapped()
    if given is None or isinstance(given, bool):
        wanted = given or (given is None and model.origin is not None)
        return open_own_cache(model) if wanted and is_tuning() else None
    is_path = isinstance(given, str | os.PathLike)
    need(is_path, f"cache is {given!r}, must be a directory, a directory and a token, or a bool", BadDataError)
    make_directory(given)
    return Cache(given, hash_content(model))


def open_own_cache(model: Model) -> Cache | None:
    """Open the runtime's own cache for a model; return None if its directory cannot be made."""
    directory = directory_of(RecordKind.PREPARED)
    try:
        make_directory(directory)
    except OSError as error:
        note_failed_write(error)
        return None
    return Cache(directory, digest(hash_content(model), find_last_change()), is_own=True)
