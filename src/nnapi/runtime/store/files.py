"""Files that are replaced whole: readers find the old content or the new, and a writer that fails leaves nothing."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

UNFINISHED = ".nnapi-"
"""How the names of files begin that are being written."""
ABANDONED = 3600
"""Seconds after which an unfinished file is one that its writer did not live to finish."""
PRIVATE, PUBLIC = 0o600, 0o666
"""Who may read a file, as far as the process's umask allows it."""


@contextmanager
def replace_file(path: str | os.PathLike[str], mode: int = PRIVATE) -> Iterator[BinaryIO]:
    """A file to write to, which takes the place of another when the block ends; OSError where that cannot be done.

    Whatever goes wrong, a full disk or an error in the block, the other stays as it is and nothing else is left.
    """
    temporary = os.path.join(os.path.dirname(path), UNFINISHED + os.urandom(8).hex())
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        with open(descriptor, "wb") as file:
            yield file
        os.replace(temporary, path)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.filename == temporary:
            error.filename, error.filename2 = os.fspath(path), None  # nobody knows the other
        raise


def remove_abandoned(directory: str | os.PathLike[str]) -> None:
    """Remove what writers left unfinished who were killed."""
    for name in os.listdir(directory):
        if name.startswith(UNFINISHED):
            with suppress(FileNotFoundError):  # its writer has finished it, or another process has removed it
                path = os.path.join(directory, name)
                if time.time() - os.stat(path).st_mtime > ABANDONED:
                    os.unlink(path)
