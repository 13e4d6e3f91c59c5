"""Conformance examples in .npz files: ``examples`` is UTF-8 JSON (uint8) that names the other arrays."""

import json
import os
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from nnapi.errors import Mistake, UnusableFile
from nnapi.model.operand import Array, Shape
from nnapi.store.files import open_regular, output_file, read_bounded
from nnapi.testing.example import (
    ChannelSpec,
    Criterion,
    Example,
    ExampleGraph,
    Harness,
    OperandSource,
    OperandSpec,
    OperationSpec,
)

INDEX = "index.jsonl"
MOST_TEXT = 64 << 20
"""Maximum bytes of an index, and of the JSON in a file."""
PLAUSIBLE, RATIO = 256 << 20, 200
"""The arrays of a file may have ``PLAUSIBLE`` bytes, or ``RATIO`` times the size of the file."""
PLAIN = ("name", "spec", "min_feature", "expect_failure", "relaxed", "multinomial_tolerance")
"""The fields of an example that JSON holds unchanged."""


def _find_published() -> Path:
    """Return the folder of the public examples: in the checkout, or in the package nnapi-conformance."""
    name = "nnapi_conformance"
    checkout = Path(__file__).resolve().parents[3] / "conformance" / name
    spec = None if checkout.is_dir() else find_spec(name)
    return Path(spec.origin).parent if spec and spec.origin else checkout


PUBLISHED = _find_published()


class CorpusError(Mistake, ValueError):
    """A path that is not a corpus, or a file that violates the format; the message names it."""


class CorpusFileError(CorpusError, UnusableFile):
    """A file that violates the format."""


@dataclass(frozen=True)
class Entry:
    """A line of the index: the data to select an example by without opening its file."""

    file: str
    name: str
    ops: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    min_feature: str = "UNKNOWN"
    relaxed: bool = False
    expect_failure: bool = False


Filter = Callable[[Entry], bool]
Arrays = Callable[[str], Array]


class Corpus:
    """Examples in a folder (``index.jsonl`` is optional) or in one .npz file. Raises CorpusError for anything else."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if not self.path.exists():
            missing = "the public examples are not installed: in a checkout of nnapi, run pip install ./conformance"
            raise CorpusError(missing if self.path == PUBLISHED else f"{self.path}: no such file or folder")
        self.root = self.path if self.path.is_dir() else self.path.parent
        self._entries: list[Entry] | None = None

    @property
    def entries(self) -> list[Entry]:
        if self._entries is None:
            index = self.path / INDEX
            if index.is_file():
                lines = _text(index).splitlines()
                self._entries = [_entry(index, line) for line in lines if line.strip()]
            else:
                self._entries = [entry_of(example) for file in self._files() for example in self.load(file)]
        return self._entries

    def _files(self) -> list[str]:
        if self.path.is_file():
            return [self.path.name]
        files = sorted(str(file.relative_to(self.path)) for file in self.path.rglob("*.npz"))
        if not files:
            raise CorpusError(f"{self.path}: neither {INDEX} nor any .npz file in it")
        return files

    def select(self, filter: Filter | None = None) -> list[Entry]:
        return [entry for entry in self.entries if filter is None or filter(entry)]

    def examples(self, filter: Filter | None = None) -> Iterator[Example]:
        """Yield the examples. Only files that hold a selected example are opened, one at a time."""
        for file, names in by_file(self.select(filter)):
            yield from self.load(file, names)

    def load(self, file: str, names: Iterable[str] | None = None) -> Iterator[Example]:
        """Yield the examples of one file: all, or those in ``names``. Raises CorpusError for an unknown name."""
        kept = None if names is None else set(names)
        missing = set(kept or ())
        path = self.root / file
        try:
            _need_plausible(path)
            with np.load(path) as archive:
                arrays = _arrays(archive)
                described = json.loads(archive["examples"].tobytes())
                ((name, count),) = Counter(each["name"] for each in described).most_common(1) or [("", 0)]
                if count > 1:
                    raise CorpusFileError(f"{path}: {count} examples are named {name}")
                for each in described:
                    if kept is None or each["name"] in kept:
                        missing.discard(each["name"])
                        yield _example(each, arrays, file)
            if missing:
                raise CorpusFileError(f"{path}: {INDEX} lists {min(missing)}, which the file does not have")
        except CorpusError:
            raise
        except Exception as error:  # NumPy parses headers as Python: a damaged file may raise anything
            if isinstance(error, OSError) and error.strerror:
                raise CorpusError(f"{path}: {error.strerror}") from error
            if not zipfile.is_zipfile(path):
                raise CorpusFileError(f"{path}: not a .npz file") from error
            raise CorpusFileError(f"{path}: not a file of examples, as NNAPI_RECORD writes it, or damaged") from error

    def __repr__(self) -> str:
        return f"<nnapi.testing.Corpus {self.path}>"


def open_published() -> Corpus:
    """Open the public conformance examples. Raises CorpusError if nnapi-conformance is not installed."""
    return Corpus(PUBLISHED)


def _need_plausible(path: Path) -> None:
    """Raise CorpusError if the arrays of a file take much more memory than the file suggests, before they are read."""
    with open(open_regular(path), "rb") as file, zipfile.ZipFile(file) as archive:
        found = {each.filename: each.file_size for each in archive.infolist()}
        size = os.fstat(file.fileno()).st_size
    total, most = sum(found.values()), max(PLAUSIBLE, RATIO * size)
    if total > most:
        raise CorpusFileError(f"{path}: its arrays have {total} bytes, a file of {size} bytes may have {most}")
    if (text := found.get("examples.npy", 0)) > MOST_TEXT:
        raise CorpusFileError(f"{path}: its examples are described in {text} bytes, at most {MOST_TEXT} are possible")


def _arrays(archive: Any) -> Arrays:
    """Return a function that returns an array of an open file by key, and reads each array once."""

    @cache
    def read(key: str) -> Array:
        array: Array = archive[key]
        array.flags.writeable = False
        return array

    return read


def entry_of(example: Example) -> Entry:
    shared = {each.name: getattr(example, each.name) for each in fields(Entry) if each.name != "ops"}
    return Entry(ops=example.operations, **shared)


def by_file(entries: Iterable[Entry]) -> Iterator[tuple[str, list[str]]]:
    for file, group in groupby(entries, lambda entry: entry.file):
        yield file, [entry.name for entry in group]


def _text(index: Path) -> str:
    try:
        return read_bounded(index, MOST_TEXT).decode()
    except UnicodeDecodeError as error:
        raise CorpusFileError(f"{index}: not text in UTF-8: {error}") from error
    except OSError as error:
        raise CorpusError(f"{index}: {error.strerror}") from error


def _entry(index: Path, line: str) -> Entry:
    try:
        said = json.loads(line)
        values = {each.name: said[each.name] for each in fields(Entry)}
        return Entry(**{**values, "ops": tuple(said["ops"]), "types": tuple(said["types"])})
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise CorpusFileError(f"{index}: a line does not describe an example: {line[:80]}") from error


def _example(described: Any, arrays: Arrays, file: str) -> Example:
    (run,) = described["runs"]
    return Example(
        main=_graph(described["main"], arrays),
        inputs={int(index): None if key is None else arrays(key) for index, key in run["inputs"].items()},
        outputs={int(index): arrays(key) for index, key in run["outputs"].items()},
        referenced=tuple(_graph(graph, arrays) for graph in described["referenced"]),
        tolerance=Criterion(**described["tolerance"]),
        harness=Harness(**described["harness"]),
        file=file,
        high_ranks=bool(described.get("high_ranks", False)),  # older files lack it
        **{name: described[name] for name in PLAIN},
    )


def _graph(described: Any, arrays: Arrays) -> ExampleGraph:
    return ExampleGraph(
        tuple(_operand(operand, arrays) for operand in described["operands"]),
        tuple(
            OperationSpec(operation["type"], tuple(operation["inputs"]), tuple(operation["outputs"]))
            for operation in described["operations"]
        ),
        tuple(described["inputs"]),
        tuple(described["outputs"]),
        described["name"],
    )


def _operand(described: Any, arrays: Arrays) -> OperandSpec:
    quant, data = described["channel_quant"], described["data"]
    if quant is not None:
        quant = ChannelSpec(quant["channel_dim"], tuple(arrays(quant["scales"]).tolist()), quant["hide"])
    values = {each.name: described[each.name] for each in fields(OperandSpec)}
    values |= {"dimensions": tuple(described["dimensions"]), "lifetime": OperandSource(described["lifetime"])}
    values |= {"data": None if data is None else arrays(data), "channel_quant": quant, "name": described["name"] or ""}
    return OperandSpec(**values)


def write(path: str | Path, examples: Iterable[Example]) -> None:
    """Write examples into one .npz file that :class:`Corpus` reads; equal arrays are stored once."""
    with output_file(path) as file:
        write_to(file, examples)


def write_to(file: BinaryIO, examples: Iterable[Example]) -> None:
    """Write examples as :func:`write` does, to an open file."""
    store = _Store()
    described = [_describe_example(example, store) for example in examples]
    text = np.frombuffer(json.dumps(described).encode(), np.uint8)
    np.savez_compressed(file, examples=text, **store.arrays)  # type: ignore[arg-type]  # the stubs mean allow_pickle


@dataclass
class _Store:
    """Arrays to write, by key; equal arrays share a key."""

    arrays: dict[str, Array] = field(default_factory=dict)
    keys: dict[tuple[str, Shape, bytes], str] = field(default_factory=dict)

    def add(self, array: Array) -> str:
        identity = (array.dtype.str, array.shape, array.tobytes())
        key = self.keys.setdefault(identity, f"a{len(self.keys)}")
        self.arrays[key] = array
        return key


def _describe_example(example: Example, store: _Store) -> dict[str, Any]:
    inputs = {str(i): None if array is None else store.add(array) for i, array in example.inputs.items()}
    outputs = {str(i): store.add(array) for i, array in example.outputs.items()}
    return {
        **{name: getattr(example, name) for name in PLAIN},
        "high_ranks": example.high_ranks,
        "output_buffer_bytes": list(example.output_buffer_bytes),
        **{name: _describe(getattr(example, name), store) for name in ("tolerance", "harness", "main", "referenced")},
        "runs": [{"inputs": inputs, "outputs": outputs}],
    }


def _describe(value: Any, store: _Store) -> Any:
    """Return the fields of a value by name; arrays and scales are replaced by their keys."""
    if isinstance(value, np.ndarray):
        return store.add(value)
    if isinstance(value, tuple):
        return [_describe(each, store) for each in value]
    if not is_dataclass(value):
        return value
    described = {each.name: _describe(getattr(value, each.name), store) for each in fields(value)}
    if isinstance(value, ChannelSpec):
        described["scales"] = store.add(np.array(value.scales, np.float32))
    return described
