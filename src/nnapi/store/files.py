"""Open and replace files safely."""

import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EFBIG, EINVAL, EISDIR
from typing import BinaryIO

UNFINISHED = ".nnapi-"
ABANDONED = 3600
"""Age in seconds after which an unfinished file counts as abandoned."""
PRIVATE, PUBLIC = 0o600, 0o666
PRIVATE_DIRECTORY = 0o700
FOREIGN_WRITERS = 0o022

_unfinished: set[str] = set()
"""The temporary files of this process."""


def make_directory(path: str | os.PathLike[str]) -> None:
    """Create a directory and missing parents, accessible to this user only; raise OSError if that fails."""
    if os.path.isdir(path):
        return
    parent = os.path.dirname(os.path.abspath(path))
    if not os.path.exists(parent):
        make_directory(parent)
    try:
        os.mkdir(path, PRIVATE_DIRECTORY)
    except FileExistsError:
        if not os.path.isdir(path):  # else another process was faster
            raise


def open_regular(path: str | os.PathLike[str]) -> int:
    """Return a read descriptor of a regular file; OSError for other files. It does not wait for a FIFO's writer."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK)
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(EISDIR, os.strerror(EISDIR), os.fspath(path))
    raise OSError(EINVAL, "it is not a regular file", os.fspath(path))


def read_bounded(path: str | os.PathLike[str], most: int) -> bytes:
    """Return the content of a regular file; OSError if it is another file, or has more than ``most`` bytes."""
    with open(open_regular(path), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise OSError(EFBIG, f"it has {size} bytes, at most {most} are possible", os.fspath(path))
        return file.read(most)


def find_foreign_writer(status: os.stat_result) -> str | None:
    """Return why other users can have written a file; None if only this user or root can."""
    if status.st_uid not in (0, os.geteuid()):
        return f"it belongs to user {status.st_uid}"
    return "other users may write to it" if status.st_mode & FOREIGN_WRITERS else None


@contextmanager
def replace_file(path: str | os.PathLike[str], mode: int = PRIVATE) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces ``path`` when the block ends. After an error, the old file is unchanged and
    the error is raised again."""
    temporary = os.path.join(os.path.dirname(path), UNFINISHED + os.urandom(8).hex())
    _unfinished.add(temporary)  # before it exists, in case a signal ends the block here
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        with open(descriptor, "wb") as file:
            yield file
        os.replace(temporary, path)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.filename in (None, temporary):
            error.filename, error.filename2 = os.fspath(path), None  # callers do not know the temporary file
        raise
    finally:
        _unfinished.discard(temporary)


@contextmanager
def output_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file that a user named. A regular file is replaced when the block ends, and keeps its mode; links, devices
    and FIFOs are written directly."""
    mode = None
    with suppress(FileNotFoundError):
        mode = os.lstat(path).st_mode
    if mode is not None and not stat.S_ISREG(mode):
        with name_file(path), open(path, "wb") as file:
            yield file
        return
    with replace_file(path, PUBLIC) as file:
        if mode is not None:
            os.fchmod(file.fileno(), stat.S_IMODE(mode))
        yield file


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a file that a user named, in UTF-8; surrogates, from names that are not text, become question marks."""
    with output_file(path) as file:
        file.write(text.encode(errors="replace"))


@contextmanager
def name_file(path: str | os.PathLike[str]) -> Iterator[None]:
    """Name the file in errors of this block that name none: an error of a write does not."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = os.fspath(path)
        raise


@contextmanager
def remove_if_empty(path: str | os.PathLike[str]) -> Iterator[None]:
    """After an OSError in this block, remove the file if nothing is in it, as after a write to a full disk."""
    try:
        yield
    except OSError:
        with suppress(OSError):
            if stat.S_ISREG((status := os.lstat(path)).st_mode) and not status.st_size:
                os.unlink(path)
        raise


def remove_unfinished() -> None:
    """Remove the temporary files of blocks that have not ended."""
    for path in list(_unfinished):
        with suppress(OSError):
            os.unlink(path)


def remove_abandoned(directory: str | os.PathLike[str]) -> None:
    for name in os.listdir(directory):
        if name.startswith(UNFINISHED):
            with suppress(FileNotFoundError):  # its writer has renamed it, or another process has removed it
                path = os.path.join(directory, name)
                if time.time() - os.stat(path).st_mtime > ABANDONED:
                    os.unlink(path)


os.register_at_fork(after_in_child=_unfinished.clear)
