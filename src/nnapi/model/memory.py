"""Bytes that models and executions share without copying (``ANeuralNetworksMemory``)."""

from __future__ import annotations

import mmap
import os
import weakref
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from nnapi.closeable import Closeable
from nnapi.errors import BadDataError, OpFailedError, UnexpectedNullError, UnmappableError, need
from nnapi.locks import make_lock
from nnapi.model.operand import Array
from nnapi.store.files import open_regular
from nnapi.trace.log import Log

log = Log("nnapi.Memory")

PROTECTIONS = mmap.PROT_READ | mmap.PROT_WRITE
LARGE = 1 << 16
"""Constants of files with at least this many bytes stay views of the file, whatever their order and alignment."""

_mapping = make_lock()


class FileName(NamedTuple):
    path: str
    identity: tuple[int, ...]

    @classmethod
    def of(cls, fd: int) -> FileName | None:
        try:
            return cls(os.readlink(f"/proc/self/fd/{fd}"), cls._identity(os.fstat(fd)))
        except OSError:
            return None

    def open(self) -> int | None:
        """Return a read descriptor; None if the file is gone or replaced."""
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK)
        except OSError:
            return None
        if self._identity(os.fstat(fd)) == self.identity:
            return fd
        os.close(fd)
        return None

    @staticmethod
    def _identity(stat: os.stat_result) -> tuple[int, ...]:
        return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns


class Mapping(mmap.mmap):
    """A shared mapping of a file; released pages are read again on access."""

    end = 0
    start = 0
    file: FileName | None = None

    def offset_of(self, array: Array) -> int:
        """Return the file offset of an array that is a view of the mapping."""
        base: int = np.frombuffer(self, np.uint8).__array_interface__["data"][0]
        address: int = array.__array_interface__["data"][0]
        return self.start + address - base


def mappings(arrays: Iterable[Array]) -> list[Mapping]:
    """Return the file mappings that arrays are views of."""
    found: dict[int, Mapping] = {}
    for array in arrays:
        owner: object = array
        while isinstance(owner, np.ndarray | memoryview):
            owner = owner.base if isinstance(owner, np.ndarray) else owner.obj
        if isinstance(owner, Mapping):
            found[id(owner)] = owner
    return list(found.values())


def release_pages(arrays: Iterable[Array]) -> None:
    """Release the pages of file mappings behind arrays. The arrays stay valid: an access reads their pages again."""
    for mapping in mappings(arrays):
        mapping.madvise(mmap.MADV_DONTNEED)


def need_whole(mappings: Iterable[Mapping]) -> None:
    """Raise UnmappableError if a mapped file was truncated; reading its missing bytes would end the process."""
    for mapping in mappings:
        size = mapping.size()
        if size < mapping.end:
            raise UnmappableError(f"a mapped file was truncated: it has {size} bytes, {mapping.end} are needed")


def view_bytes(array: Array) -> Array:
    """Return the bytes of an array; a view if it is contiguous."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def need_memory(memory: object, what: str) -> None:
    """Raise UnexpectedNullError for None, BadDataError for any other object that is not a memory."""
    need(memory is not None, f"memory for {what} is None", UnexpectedNullError)
    remedy = f"{what}: {type(memory).__name__} is not a Memory: Memory.from_array shares an array"
    need(isinstance(memory, Memory), remedy, BadDataError)


class Memory(Closeable):
    """A region of bytes, mapped or borrowed, never copied (``ANeuralNetworksMemory``).

    Create it with :meth:`from_fd`, :meth:`from_file` or :meth:`from_array`. Any number of models, executions and
    threads may use it. Its bytes must not change while a model with constants in it is in use.
    """

    def __init__(self, size: int, protect: int, source: Array | int, offset: int = 0) -> None:
        self.size = size
        self.protect = protect
        self._offset = offset
        self._bytes: Array | None = None
        self._fd: int | None = None
        if isinstance(source, int):
            self._fd = source
            self._finalizer = weakref.finalize(self, os.close, source)
        else:
            self._bytes = source

    @classmethod
    def from_fd(cls, size: int, protect: int, fd: int, offset: int = 0) -> Memory:
        """Return memory over ``size`` bytes of ``fd`` from ``offset`` on (``ANeuralNetworksMemory_createFromFd``).

        ``protect`` combines ``mmap.PROT_READ`` and ``mmap.PROT_WRITE``. The descriptor is duplicated. The shared
        mapping is made at first use, which raises UnmappableError if size or offset do not fit the file. Raises
        OpFailedError if the descriptor cannot be duplicated.
        """
        is_counted = isinstance(size, int) and isinstance(offset, int)
        need(is_counted, "size and offset are numbers of bytes; Memory.from_file maps a path", BadDataError)
        try:
            duplicate = os.dup(fd)
        except (OSError, OverflowError) as error:
            raise OpFailedError(f"file descriptor {fd} cannot be duplicated: {error}") from None
        log.debug("%d bytes of file descriptor %d from %d on", size, fd, offset)
        return cls(size, protect, duplicate, offset)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Memory:
        """Map the whole file ``path`` for reading; OSError if it cannot be opened or is not a regular file."""
        fd = open_regular(path)
        return cls(os.fstat(fd).st_size, mmap.PROT_READ, fd)

    @classmethod
    def from_array(cls, array: Array) -> Memory:
        """Share the bytes of a C-contiguous array; the memory is writable if the array is."""
        need(array is not None, "array is None", UnexpectedNullError)
        need(array.flags.c_contiguous, "a Memory needs a C-contiguous array", BadDataError)
        protect = PROTECTIONS if array.flags.writeable else mmap.PROT_READ
        return cls(array.nbytes, protect, array.reshape(-1).view(np.uint8))

    def view(self, offset: int = 0, length: int | None = None) -> Array:
        """Return bytes ``offset`` to ``offset + length`` as a uint8 array without a copy.

        Raises BadDataError for a region outside the memory, UnmappableError if the file cannot be mapped.
        """
        length = self.size - offset if length is None else length
        self.check_region(offset, length)
        mapped = self._bytes
        if mapped is None:
            with _mapping:
                mapped = self._bytes = self._map() if self._bytes is None else self._bytes
        return mapped[offset : offset + length]

    def check_region(self, offset: int, length: int) -> None:
        if not (offset >= 0 and length >= 0 and offset + length <= self.size):
            raise BadDataError(
                f"region of {length} bytes at offset {offset} is not inside the memory of {self.size} bytes"
            )

    def stat(self) -> os.stat_result | None:
        return None if self._fd is None else os.fstat(self._fd)

    @property
    def path(self) -> str | None:
        """Return a path by which other processes can open the mapped file, or None."""
        if self._fd is None or self._offset or not self._finalizer.alive:
            return None
        name = f"/proc/self/fd/{self._fd}"
        return name if os.path.exists(name) else None

    @property
    def writable(self) -> bool:
        return bool(self.protect & mmap.PROT_WRITE)

    def _map(self) -> Array:
        assert self._fd is not None
        need(self._finalizer.alive, "the memory has been closed", UnmappableError)
        need(self.protect & PROTECTIONS, "the memory may be neither read nor written", UnmappableError)
        lead = self._offset % mmap.ALLOCATIONGRANULARITY  # a mapping begins at a page, a memory at any byte
        try:
            need(self._offset + self.size <= os.fstat(self._fd).st_size, "the file is too short", UnmappableError)
            mapping = Mapping(
                self._fd, self.size + lead, mmap.MAP_SHARED, prot=self.protect, offset=self._offset - lead
            )
            mapping.end, mapping.start = self._offset + self.size, self._offset - lead
            mapping.file = FileName.of(self._fd)
        except (OSError, ValueError, OverflowError, UnmappableError) as error:
            raise UnmappableError(
                f"memory of {self.size} bytes at file offset {self._offset} cannot be mapped: {error}"
            ) from None
        return np.frombuffer(mapping, np.uint8)[lead:]

    def close(self) -> None:
        """Close the descriptor now (``ANeuralNetworksMemory_free``); existing views stay valid."""
        if self._fd is not None:
            with _mapping:  # else a descriptor with the same number could be mapped
                self._finalizer()

    def __repr__(self) -> str:
        origin = "a file" if self._fd is not None else "an array"
        return f"<nnapi.Memory of {self.size} bytes over {origin}>"
