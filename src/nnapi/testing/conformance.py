"""Run the conformance corpus: every applicable variant of every example, with one Result each."""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache, partial
from pathlib import Path

from nnapi.codes import OperationCode
from nnapi.runtime.device import Device, device
from nnapi.testing.corpus import Corpus, Entry, Filter, by_file, entry_of
from nnapi.testing.example import Example, as_signed
from nnapi.testing.runtime_classes import HERE
from nnapi.testing.suite.pipeline import Test, name_uniquely
from nnapi.testing.suite.result import Result, Status
from nnapi.testing.suite.worker import PATIENCE, Perform, Worker, WorkerEndedError
from nnapi.testing.variants import VARIANTS, Setting, Skip, Variant

BATCH = 32
"""Examples that one process runs in a row; they are mostly of one file."""
COPYING, COPIES = "ADD", "_all_inputs_as_internal"
"""The operation that copies each input in the examples of this name, which test other operations."""


def run(
    corpus: Corpus,
    devices: Sequence[Device | str] | None = None,
    variants: Iterable[str] = tuple(VARIANTS),
    filter: Filter | None = None,
    *,
    strict: bool = False,
    runtime: str = HERE,
) -> Iterator[Result]:
    """Run the variants that apply to the examples in this process, in the order of the index, and yield each result.

    Each model runs on all ``devices`` together; by default the runtime chooses. ``runtime`` names the module whose
    Model, Compilation and Execution are used. Raises KeyError for an unknown variant, UnavailableDeviceError for a
    device.
    """
    chosen = [VARIANTS[name] for name in variants]
    found = None if devices is None else tuple(device(d) if isinstance(d, str) else d for d in devices)
    return _run(corpus, corpus.select(filter), chosen, Setting(found, strict, runtime))


def _run(corpus: Corpus, entries: Sequence[Entry], variants: Sequence[Variant], setting: Setting) -> Iterator[Result]:
    for file, names in by_file(entries):
        for example in corpus.load(file, names):
            for variant in variants:
                if variant.applies(example.harness):
                    yield check(example, variant, setting)


@dataclass(frozen=True)
class ExampleSuite:
    """Examples of a corpus in these variants, run on ``devices`` together, in processes that find them by name."""

    corpus: Corpus
    entries: Sequence[Entry]
    variants: tuple[str, ...] = tuple(VARIANTS)
    devices: tuple[str, ...] | None = None
    strict: bool = False
    runtime: str = HERE
    patience: float = PATIENCE
    batch: int = BATCH

    @cached_property
    def tests(self) -> Sequence[Test]:
        names = name_uniquely((entry.file, entry.name) for entry in self.entries)
        return [
            Test(name, list_tested(entry), entry, self.variants)
            for name, entry in zip(names, self.entries, strict=True)
        ]

    def open_worker(self) -> Worker:
        prepare = partial(_prepare, self.corpus.path, self.devices, self.strict, self.runtime)
        return Worker(prepare, self.patience)

    def complete(self, test: Test) -> Test:
        return test

    def perform(self, worker: Worker, test: Test, variant: str) -> Result | None:
        entry: Entry = test.task
        try:
            result: Result | None = worker.do((entry.file, entry.name, variant))
        except WorkerEndedError as ended:
            type = worker.do((entry.file, entry.name, None))
            return Result(entry.file, test.example, test.operations, variant, ended.status, ended.reason, type=type)
        return result and replace(result, example=test.example)

    def explain(self, worker: Worker, test: Test, result: Result) -> Result:
        return result


def _prepare(path: Path, devices: Sequence[str] | None, strict: bool, runtime: str) -> Perform:
    """Return the function that a worker calls with a file, the name of an example and that of a variant. Without a
    variant, it returns the type of the example's input."""
    setting = Setting(None if devices is None else tuple(map(device, devices)), strict, runtime)
    corpus = Corpus(path)

    @lru_cache(maxsize=1)
    def load(file: str) -> dict[str, Example]:
        return {example.name: example for example in corpus.load(file)}

    def perform(task: tuple[str, str, str | None]) -> Result | str | None:
        file, name, variant = task
        if name not in load(file):
            list(corpus.load(file, [name]))  # raises an error that names it
        example = load(file)[name]
        if variant is None:
            return example.input_type
        return check(example, VARIANTS[variant], setting) if VARIANTS[variant].applies(example.harness) else None

    return perform


def match_name(pattern: str) -> Filter:
    """Return a filter by name of a tested operation, by wildcards, or by a part of the example's name."""
    if pattern in OperationCode.__members__:
        return lambda entry: pattern in list_tested(entry)
    if any(sign in pattern for sign in "*?["):
        return lambda entry: fnmatchcase(entry.name, pattern)
    return lambda entry: pattern in entry.name


def list_tested(entry: Entry) -> tuple[str, ...]:
    """Return the operations that an example tests, without the ADD that only copies its inputs."""
    others = tuple(name for name in entry.ops if name != COPYING)
    return others if others and COPIES in entry.name else entry.ops


def check(example: Example, variant: Variant, setting: Setting) -> Result:
    """Return the result of one variant; every exception becomes part of it."""
    begin = time.perf_counter()
    status = Status.PASSED
    try:
        reason = variant.check(example, setting) or ""
        if reason:
            status = Status.FAILED
    except Skip as skip:
        status, reason = Status.SKIPPED, str(skip)
    except Exception as error:
        status, reason = Status.FAILED, f"{type(error).__name__}: {error}"
    seconds = time.perf_counter() - begin
    ran = as_signed(example) if variant.name == "signed" else example
    operations = list_tested(entry_of(example))
    return Result(example.file, example.name, operations, variant.name, status, reason, seconds, ran.input_type)
