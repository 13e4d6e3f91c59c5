"""The files that models are imported from; device, inode, size and modification time identify a file."""

import os
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Self

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
    """Return the identity of the file if the memory maps all of it, else None."""
    stat = memory.stat()
    return None if stat is None or stat.st_size != memory.size else _identify(stat)


def _identify(stat: os.stat_result) -> Identity:
    return Identity(stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)


class SourceFile:
    """The file that a model was read from, for models that are not cached. ``others`` are its external data files."""

    def __init__(self, file: Identity, path: str | os.PathLike[str], others: Sequence["SourceFile"] = ()) -> None:
        self.file, self.path, self.others = file, os.path.abspath(path), others

    @property
    def file_size(self) -> int:
        """The size of the file and its external data, in bytes."""
        return self.file.size + sum(other.file_size for other in self.others)

    @classmethod
    def at(cls, path: str, others: Iterable[str] = ()) -> Self:
        return cls(_identify(os.stat(path)), path, [cls.at(each) for each in others])

    def need_unchanged(self) -> None:
        """Raise BadDataError if a file was changed in place; writes through a mapping may go undetected."""
        now = self.identify()
        if now and now[:2] == self.file[:2] and (now.size, now.modified) != (self.file.size, self.file.modified):
            raise BadDataError(f"{self.path} has changed since it was loaded: load it again")
        for other in self.others:
            other.need_unchanged()

    @property
    def is_same(self) -> bool:
        return self.identify() == self.file and all(other.is_same for other in self.others)

    def identify(self) -> Identity | None:
        try:
            return _identify(os.stat(self.path))
        except OSError:
            return None

    def reduce(self, model: Model) -> tuple[Any, ...] | None:
        return None

    def keep(self, model: Model) -> None:
        pass
