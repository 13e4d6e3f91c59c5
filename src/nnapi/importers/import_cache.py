"""Files that were imported before: what is to be known of their models in order to compile them from a cache.

A file is taken for the one that it was by what the system says of it: its place, its size, and when it was last changed
(as ``git status`` does it). What is known of it is kept when something made of its model enters a compilation cache.
Where nothing is known the file is read.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from nnapi.codes import OperandCode
from nnapi.errors import BadDataError, need
from nnapi.importers import file_formats
from nnapi.importers.file_formats import Shapes
from nnapi.model.lazy_model import LazyModel
from nnapi.model.memory import Memory
from nnapi.model.model import Lifetime, Model, Operand
from nnapi.model.operand import OperandType
from nnapi.runtime.store.digest import hash_content, set_content_hash
from nnapi.runtime.store.directories import RecordKind
from nnapi.runtime.store.records import keep_record, recall_record

SETTLED = 2_000_000_000
"""Nanoseconds after its last change from which a file's next change is certain to have another time."""


class Identity(NamedTuple):
    """What tells a file, and its content, from others. Times are in nanoseconds."""

    device: int
    inode: int
    size: int
    modified: int
    changed: int

    @property
    def key(self) -> str:
        """What is known of the file is kept under it."""
        return f"{self.device:x}-{self.inode:x}"


def identity(memory: Memory) -> Identity | None:
    """That of the file that a memory maps whole, None where it maps none."""
    stat = memory.stat()
    return None if stat is None or stat.st_size != memory.size else _identity(stat)


def _identity(stat: os.stat_result) -> Identity:
    return Identity(stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)


class Origin:
    """The file that a model was imported from, as it was then."""

    def __init__(self, file: Identity, path: str | os.PathLike[str], *, is_kept: bool = False) -> None:
        """``is_kept`` says that what is to be known of the file is kept already."""
        self.file, self._path, self._is_kept = file, os.path.abspath(path), is_kept

    def need_unchanged(self) -> None:
        """Raise BadDataError where the file was changed in place, so that the mapped constants are no longer those of
        the model. Another file of that name does no harm; what is written through a mapping may not show."""
        now = self._now()
        if now and now[:2] == self.file[:2] and (now.size, now.modified) != (self.file.size, self.file.modified):
            raise BadDataError(f"{self._path} has changed since it was loaded: load it again")

    def pickled(self, model: Model) -> tuple[Any, ...] | None:
        """By path and digest, where the file is still there."""
        return (_loaded, (self._path, hash_content(model))) if self._now() == self.file else None

    def _now(self) -> Identity | None:
        try:
            return _identity(os.stat(self._path))
        except OSError:
            return None

    def keep(self, model: Model) -> None:
        """Remember what is to be known of the model; not of a file that was changed a moment ago."""
        if self._is_kept:
            return
        file = self.file
        if time.time_ns() - max(file.changed, file.modified) < SETTLED:
            return
        ends = [[_as_data(model.operands[index]) for index in side] for side in (model.inputs, model.outputs)]
        known = {"file": file, "digest": hash_content(model).hex(), "ends": ends}
        keep_record(RecordKind.MODELS, file.key, known, model=model.name)


def _loaded(path: str, digest: bytes) -> Model:
    """The model of a file, elsewhere: BadDataError where that is another one there."""
    model = load(Memory.from_file(path), path)
    need(hash_content(model) == digest, f"{path} does not hold the model that was pickled", BadDataError)
    return model


def load(memory: Memory, path: str, shapes: Shapes | None = None) -> Model:
    """The model in a memory: recalled where its file was imported before, else read.

    A model of given shapes, or of several files, is not that of its file alone and is read every time.
    """
    file = identity(memory)
    if file is None or shapes:
        return file_formats.read(memory, path, shapes)
    model = recalled(file, memory, path)
    if model is None:
        model = file_formats.read(memory, path)
        if model.origin is None:
            model.origin = Origin(file, path)
    return model


class Several(Origin):
    """The files that a model was imported from, which is not remembered: the first does not say whether the others are
    as they were."""

    def __init__(self, paths: Sequence[str]) -> None:
        self.origins = [Origin(_identity(os.stat(path)), path) for path in paths]

    def need_unchanged(self) -> None:
        for origin in self.origins:
            origin.need_unchanged()

    def pickled(self, model: Model) -> tuple[Any, ...] | None:
        return None

    def keep(self, model: Model) -> None:
        pass


def recalled(file: Identity, memory: Memory, path: str) -> Model | None:
    """The model of a file that was imported before, described when that is needed; None where nothing is known."""
    known = recall_record(RecordKind.MODELS, file.key, _parse)
    if known is None or known.file != file:
        return None
    name, origin = os.path.basename(path), Origin(file, path, is_kept=True)
    describe = partial(_read, origin, memory, path, known.digest)
    model = LazyModel(os.path.splitext(name)[0], *known.ends, describe)
    model.origin = origin
    set_content_hash(model, known.digest)
    return model


class Known(NamedTuple):
    """What is kept of a file: its identity, the digest of its model, and that one's inputs and outputs."""

    file: Identity
    digest: bytes
    ends: tuple[list[Operand], list[Operand]]


def _parse(data: Any) -> Known:
    inputs, outputs = ([_operand(*end) for end in side] for side in data["ends"])
    return Known(Identity(*data["file"]), bytes.fromhex(data["digest"]), (inputs, outputs))


def _read(origin: Origin, memory: Memory, path: str, digest: bytes) -> Model:
    """The model, read only now; BadDataError where it is another by now."""
    model = file_formats.read(memory, path)
    now = identity(memory)
    if now != origin.file:
        if now is None or hash_content(model) != digest:
            raise BadDataError(f"{os.path.basename(path)} has changed since it was loaded: load it again")
        origin.file = now  # the same content, which counts from now on
    return model


def _as_data(operand: Operand) -> list[Any]:
    type = operand.type
    described = type.code, type.dimensions, type.scale, type.zero_point
    return [operand.index, operand.name, operand.lifetime.value, *described]


def _operand(
    index: int, name: str, lifetime: str, code: int, dimensions: Sequence[int], scale: float, zero_point: int
) -> Operand:
    return Operand(index, OperandType(OperandCode(code), dimensions, scale, zero_point), name, Lifetime(lifetime))
