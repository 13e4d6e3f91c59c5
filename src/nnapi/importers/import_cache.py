"""Cache facts of imported files: their inputs, outputs and digests. Compiling from a cache needs nothing else."""

import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from nnapi.codes import OperandCode
from nnapi.errors import BadDataError, need
from nnapi.importers import file_formats
from nnapi.importers.file_formats import NO_OPTIONS, ImportOptions
from nnapi.importers.source_files import Identity, SourceFile, identify
from nnapi.model.content_hash import hash_content, set_content_hash
from nnapi.model.dynamic_model import DynamicModel
from nnapi.model.graph import Signature
from nnapi.model.lazy_model import LazyModel
from nnapi.model.memory import Memory
from nnapi.model.model import Lifetime, Model, Operand
from nnapi.model.operand import OperandType
from nnapi.store.code_version import find_last_change
from nnapi.store.directories import RecordKind
from nnapi.store.records import keep_record, recall_record
from nnapi.trace import mute

SETTLED = 2_000_000_000
"""Nanoseconds after a change until the next change is certain to have a different modification time."""


class Origin(SourceFile):
    """The file that a model was imported from. ``purpose`` states the import's options and shapes. A model of this
    origin is pickled by its path; its facts are cached unless ``is_cached``."""

    def __init__(
        self,
        file: Identity,
        path: str | os.PathLike[str],
        others: Sequence[SourceFile] = (),
        purpose: str = "",
        *,
        is_cached: bool = False,
    ) -> None:
        super().__init__(file, path, others)
        self.purpose, self.is_cached = purpose, is_cached

    def reduce(self, model: Model) -> tuple[Any, ...] | None:
        """Pickle the path and the digest if the file is unchanged and was read without options."""
        return (_load_again, (self.path, hash_content(model))) if self.is_same and not self.purpose else None

    def keep(self, model: Model) -> None:
        """Cache the facts of the model, unless the file changed within 2 s: another change might keep its times."""
        if self.is_cached:
            return
        file, others = self.file, [other.file for other in self.others]
        if any(time.time_ns() - max(each.changed, each.modified) < SETTLED for each in (file, *others)):
            return
        ends = [[_as_data(model.operands[index]) for index in side] for side in (model.inputs, model.outputs)]
        known: dict[str, Any] = {"file": file, "digest": hash_content(model).hex(), "ends": ends}
        known["others"] = [[other.path, other.file] for other in self.others]
        known["has_states"], known["signature"] = bool(model.states), model.signature
        keep_record(RecordKind.MODELS, make_key(file, self.purpose), known, model=model.name)


def make_key(file: Identity, purpose: str = "") -> str:
    """Return the name of the record of a file and a purpose; it changes with the importer's code."""
    return f"{file.key} {find_last_change().hex()}{purpose}"


def _load_again(path: str, digest: bytes) -> Model:
    """Load the file of an unpickled model; raise BadDataError if it holds another model by now."""
    model = load(Memory.from_file(path), path)
    need(hash_content(model) == digest, f"{path} does not hold the model that was pickled", BadDataError)
    return model


def load(memory: Memory, path: str, options: ImportOptions = NO_OPTIONS) -> Model:
    """Return the model in a memory: from the cache, or else by reading it."""
    purpose = "" if options == NO_OPTIONS else repr((dict(options.shapes), *options[1:]))
    model = load_for(memory, path, purpose, partial(file_formats.read_model, memory, path, options))
    if isinstance(model, DynamicModel):
        model.load_for = lambda shapes, read: load_for(memory, path, f"{purpose}{shapes}", read)
    return model


def load_for(memory: Memory, path: str, purpose: str, read: Callable[[], Model]) -> Model:
    """Return the file's model for a purpose: from the cache, or else by calling ``read``."""
    file = identify(memory)
    if file is None:
        return read()
    model = _recall(file, memory, path, purpose, read)
    if model is None:
        model = read()
        if not model.empty_inputs:  # a record does not say so
            model.origin = Origin(file, path, _list_others(model), purpose)
    return model


def _recall(file: Identity, memory: Memory, path: str, purpose: str, read: Callable[[], Model]) -> Model | None:
    """Return a cached file's LazyModel, which calls ``read`` on demand; None if the file is not cached."""
    try:
        known = recall_record(RecordKind.MODELS, make_key(file, purpose), _parse)
    except (OSError, MemoryError):  # no memory or descriptor is left: reading the file will report it
        known = None
    if known is None or known.file != file or not all(other.is_same for other in known.others):
        return None
    name, origin = os.path.basename(path), Origin(file, path, known.others, purpose, is_cached=True)
    model = LazyModel(os.path.splitext(name)[0], *known.ends, partial(_read, origin, memory, known.digest, read))
    model.origin, model.signature = origin, known.signature
    if not known.has_states:
        model.states = ()
    set_content_hash(model, known.digest)
    return model


class Known(NamedTuple):
    file: Identity
    digest: bytes
    ends: tuple[list[Operand], list[Operand]]
    others: list[SourceFile]
    has_states: bool
    signature: Signature | None


def _parse(data: Any) -> Known:
    inputs, outputs = ([_operand(*end) for end in side] for side in data["ends"])
    others = [SourceFile(Identity(*file), path) for path, file in data.get("others", ())]
    digest, signature = bytes.fromhex(data["digest"]), data["signature"]
    if signature is not None:
        key, *sides = signature
        signature = Signature(key, *(tuple((str(name), int(position)) for name, position in side) for side in sides))
    return Known(Identity(*data["file"]), digest, (inputs, outputs), others, data["has_states"], signature)


def _read(origin: Origin, memory: Memory, digest: bytes, read: Callable[[], Model]) -> Model:
    """Read the model without tracing; raise BadDataError if the file holds another model by now."""
    with mute():
        model = read()
    now = identify(memory)
    if now != origin.file or not all(other.is_same for other in origin.others):
        if now is None or hash_content(model) != digest:
            raise BadDataError(f"{os.path.basename(origin.path)} has changed since it was loaded: load it again")
        origin.file, origin.others = now, _list_others(model)  # the file was replaced by one with the same content
    return model


def _list_others(model: Model) -> Sequence[SourceFile]:
    return model.origin.others if isinstance(model.origin, SourceFile) else ()


def _as_data(operand: Operand) -> list[Any]:
    type = operand.type
    described = type.code, type.dimensions, type.scale, type.zero_point
    return [operand.index, operand.name, operand.lifetime.value, *described]


def _operand(
    index: int, name: str, lifetime: str, code: int, dimensions: Sequence[int], scale: float, zero_point: int
) -> Operand:
    return Operand(index, OperandType(OperandCode(code), dimensions, scale, zero_point), name, Lifetime(lifetime))
