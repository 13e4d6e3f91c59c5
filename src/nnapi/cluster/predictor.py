"""A model as a picklable callable for Ray Data's ``map_batches``, joblib or Spark. Each process compiles the model at
the first call, once for all copies of the callable."""

import os
import pickle
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from blake3 import blake3

from nnapi.codes import PreferenceCode
from nnapi.compiling import compile
from nnapi.errors import BadDataError, OpFailedError, need
from nnapi.importers import load
from nnapi.locks import make_lock
from nnapi.model.content_hash import hash_content
from nnapi.model.model import Model
from nnapi.model.operand import Array
from nnapi.model.precision import PrecisionName
from nnapi.runtime.compilation import Compilation
from nnapi.runtime.device import Device
from nnapi.runtime.run_many import RunMany
from nnapi.runtime.thread_counts import read_threads

MOST_READY = 4
"""Number of compilations that a process caches, the most recently used."""

Batch = Mapping[str, Any]


class PredictorSettings(NamedTuple):
    devices: tuple[str, ...] | None
    preference: PreferenceCode | None
    threads: int | None
    relaxed: bool | None
    precision: PrecisionName | None
    cache: str | bool | None


class Pickled(NamedTuple):
    content: bytes


@dataclass(frozen=True)
class ModelSource:
    """A model with its digest: the path of a file, the bytes of a file, or the model itself."""

    digest: bytes
    path: str | None = None
    content: bytes | Model | Pickled | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle a model in a pickle of its own, which is unpickled only if the receiving process must compile it."""
        content = Pickled(pickle.dumps(self.content)) if isinstance(self.content, Model) else self.content
        return ModelSource, (self.digest, self.path, content)

    def load(self) -> Model:
        """Return the model; raise BadDataError if the file at the path has another digest."""
        if isinstance(self.content, Model):
            return self.content
        if isinstance(self.content, Pickled):
            model: Model = pickle.loads(self.content.content)
            return model
        if self.path is None:
            assert self.content is not None
            return load(self.content)
        model = load(self.path)
        if _hash_file(self.path) != self.digest:
            raise BadDataError(f"{self.path} is another file here than where the predictor was made")
        return model


class Predictor:
    """A compiled model that can be sent to other processes. Call it with one array per input, or with a batch: a
    dictionary of columns.

    ``model`` is a path that every process can open, the bytes of a file, or a model; the predictor contains bytes and
    models. ``preference``, ``threads`` (1 by default), ``relaxed``, ``precision`` and ``cache`` are as for
    :func:`nnapi.compile`; each process expands the ``~`` of ``cache``. ``devices`` may be names. ``columns`` names the
    batch's columns for the inputs, in order, if names differ; ``requests`` counts concurrent rows.
    """

    def __init__(
        self,
        model: str | os.PathLike[str] | bytes | Model,
        devices: Sequence[Device | str] | Device | str | None = None,
        *,
        preference: PreferenceCode | None = None,
        threads: int | None = 1,
        relaxed: bool | None = None,
        precision: PrecisionName | None = None,
        cache: str | os.PathLike[str] | bool | None = None,
        columns: Sequence[str] | None = None,
        requests: int = 1,
    ) -> None:
        several = [devices] if isinstance(devices, str | Device) else devices
        names = None if several is None else tuple(one if isinstance(one, str) else one.name for one in several)
        cache_path = cache if cache is None or isinstance(cache, bool) else os.fspath(cache)
        self.source = _find_source(model)
        self.settings = PredictorSettings(names, preference, read_threads(threads), relaxed, precision, cache_path)
        self._columns = None if columns is None else tuple(columns)
        self._requests = requests

    @property
    def compilation(self) -> Compilation:
        """Return the compilation of this process; compile the model at first use."""
        return _compile_once(self.source, self.settings)

    def __call__(self, *inputs: Any) -> Any:
        """Return the outputs for ``inputs``, one array each. For a dictionary of columns, return one of as many rows:
        the outputs by name, and the other columns. Leading dimensions of 1 may be missing from rows, and are removed
        from results."""
        if len(inputs) == 1 and isinstance(inputs[0], Mapping):
            return self._predict_batch(inputs[0])
        return self.compilation.run(*inputs)

    def run_many(self, inputs: Iterable[Any]) -> RunMany:
        """Run as :meth:`Compilation.run_many`, from an iterator to an iterator, for Spark's ``mapPartitions``."""
        return self.compilation.run_many(inputs, requests=self._requests)

    def _predict_batch(self, batch: Batch) -> dict[str, Any]:
        model = self.compilation.model
        columns = self._find_columns(batch)
        operands = [model.operands[index] for index in model.inputs]
        values = [batch[name] for name in columns]
        counts = {len(column) for column in values}
        need(len(counts) == 1, f"the columns {', '.join(columns)} have {sorted(counts)} rows", BadDataError)
        ranks = [operand.type.rank for operand in operands]
        rows = (tuple(map(_add_dimensions, row, ranks)) for row in zip(*values, strict=True))
        results = list(self.run_many(rows))
        kept = {name: column for name, column in batch.items() if name not in columns}
        return kept | dict(zip(name_outputs(model), _join(model, results), strict=True))

    def _find_columns(self, batch: Batch) -> Sequence[str]:
        model = self.compilation.model
        names = self._columns or [model.operands[index].name for index in model.inputs]
        if len(names) != len(model.inputs):
            raise BadDataError(f"{model.name} takes {len(model.inputs)} columns, not {names}")
        if self._columns is None and len(names) == len(batch) == 1:
            return list(batch)
        missing = [name for name in names if name not in batch]
        if missing:
            raise BadDataError(f"no column {', '.join(missing)} for {model.name}; there are: {', '.join(batch)}")
        return names

    def __repr__(self) -> str:
        what = self.source.path or (self.source.content if isinstance(self.source.content, Model) else "bytes")
        return f"<nnapi.Predictor of {what}>"


def name_outputs(model: Model) -> list[str]:
    """Return the outputs' names in a batch: the model's if all differ, else ``output0``, ``output1`` and so on."""
    names = [model.operands[index].name for index in model.outputs]
    are_distinct = all(names) and len(set(names)) == len(names)
    return names if are_distinct else [f"output{number}" for number in range(len(names))]


def _find_source(model: str | os.PathLike[str] | bytes | Model) -> ModelSource:
    if isinstance(model, Model):
        return ModelSource(hash_content(model), content=model)
    if isinstance(model, bytes | bytearray | memoryview):
        content = bytes(model)
        return ModelSource(blake3(content).digest(), content=content)
    path = os.path.abspath(model)
    return ModelSource(_hash_file(path), path)


def _hash_file(path: str) -> bytes:
    state = blake3()
    try:
        state.update_mmap(path)
    except FileNotFoundError:
        raise OpFailedError(f"the predictor's model {path} is not here") from None
    return state.digest()


def _add_dimensions(row: Any, rank: int) -> Any:
    if row is None:
        return None
    array = np.asarray(row)
    return array.reshape((1,) * (rank - array.ndim) + array.shape)


def _join(model: Model, results: Sequence[Sequence[Array]]) -> list[Any]:
    """Return a column for each output: an array, or a list of arrays if their shapes differ."""
    columns: list[Any] = []
    for index in range(len(model.outputs)):
        rows = [outputs[index] for outputs in results]
        rows = [row[0] if row.ndim and len(row) == 1 else row for row in rows]
        columns.append(np.stack(rows) if len({row.shape for row in rows}) == 1 else rows)
    return columns


_ready: OrderedDict[tuple[bytes, PredictorSettings], Compilation] = OrderedDict()
_lock = make_lock()
os.register_at_fork(after_in_child=_ready.clear)  # engines do not survive a fork


def _compile_once(source: ModelSource, settings: PredictorSettings) -> Compilation:
    key = source.digest, settings
    with _lock:
        found = _ready.get(key)
        if found is None:
            cache = os.path.expanduser(settings.cache) if isinstance(settings.cache, str) else settings.cache
            found = _ready[key] = compile(source.load(), **settings._replace(cache=cache)._asdict())
            if len(_ready) > MOST_READY:
                _ready.popitem(last=False)
        else:
            _ready.move_to_end(key)
        return found
