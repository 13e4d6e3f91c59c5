"""Temporary folders that even a process that must leave at once removes."""

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from nnapi.store.files import PRIVATE_DIRECTORY

_folders: set[str] = set()
"""The folders of this process."""


@contextmanager
def temporary_folder(use: str = "") -> Iterator[str]:
    """Make a folder ``nnapi-USE-…`` in the system's temporary directory, and remove it when the block ends."""
    name = "-".join(filter(None, ("nnapi", use, os.urandom(8).hex())))
    folder = os.path.join(tempfile.gettempdir(), name)
    _folders.add(folder)  # before it exists, in case a signal ends the block here
    try:
        os.mkdir(folder, PRIVATE_DIRECTORY)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        _folders.discard(folder)


def remove_temporary_folders() -> None:
    """Remove the folders of blocks that have not ended."""
    for folder in list(_folders):
        shutil.rmtree(folder, ignore_errors=True)


atexit.register(remove_temporary_folders)
os.register_at_fork(after_in_child=_folders.clear)
