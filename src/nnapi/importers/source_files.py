"""The files that models are imported from; device, inode, size and modification time identify a file."""

import os
from collections.abc import Sequence
from typing import NamedTuple

from nnapi.errors import BadDataError
from nnapi.model.memory import Memory
from nnapi.model.model import Model


class Identity(NamedTuple):
    """The identity of a file and its content; times are in nanoseconds."""

    device: int
    inode: int
    size: int
    modified: int
    changed: int

    @property
    def key(self) -> str:
        return f"{self.device:x}-{self.inode:x}"


def identify(memory: Memory) -> Identity | None:
    """Return the identity of the file that a memory maps whole, else None."""
    stat = memory.stat()
    return None if stat is None or stat.st_size != memory.size else _identify(stat)


def _identify(stat: os.stat_result) -> Identity:
    return Identity(stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)


class SourceFile:
    def __init__(self, file: Identity, path: str | os.PathLike[str]) -> None:
        self.file, self.path = file, os.path.abspath(path)

    def need_unchanged(self) -> None:
        """Raise BadDataError where the file was changed in place; writes through a mapping may go undetected."""
        now = self.identify()
        if now and now[:2] == self.file[:2] and (now.size, now.modified) != (self.file.size, self.file.modified):
            raise BadDataError(f"{self.path} has changed since it was loaded: load it again")

    @property
    def is_same(self) -> bool:
        return self.identify() == self.file

    def identify(self) -> Identity | None:
        try:
            return _identify(os.stat(self.path))
        except OSError:
            return None


class SeveralFiles:
    def __init__(self, path: str, others: Sequence[str]) -> None:
        self.first, *self.others = [SourceFile(_identify(os.stat(each)), each) for each in (path, *others)]

    def need_unchanged(self) -> None:
        for file in (self.first, *self.others):
            file.need_unchanged()

    def reduce(self, model: Model) -> None:
        return None

    def keep(self, model: Model) -> None:
        pass
