"""Run the conformance corpus: every applicable variant of every example, with one Result each."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import partial
from itertools import groupby
from multiprocessing import get_context
from pathlib import Path

from nnapi.codes import OperationCode
from nnapi.runtime.device import Device, device
from nnapi.testing.child_processes import leave_with, starting_children
from nnapi.testing.corpus import Corpus, Entry, Filter, by_file
from nnapi.testing.example import Example
from nnapi.testing.runtime_classes import HERE
from nnapi.testing.variants import VARIANTS, Setting, Skip, Variant

CHUNK = 32
COPYING, COPIES = "ADD", "_all_inputs_as_internal"
"""The operation that copies each input in the examples of this name, which test other operations."""


class Status(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Result:
    """The result of one variant of one example. ``reason`` explains a failure or a skip."""

    file: str
    example: str
    operations: tuple[str, ...]
    variant: str
    status: Status
    reason: str = ""
    seconds: float = 0.0


def run(
    corpus: Corpus,
    devices: Sequence[Device | str] | None = None,
    variants: Iterable[str] = tuple(VARIANTS),
    filter: Filter | None = None,
    jobs: int = 1,
    *,
    strict: bool = False,
    runtime: str = HERE,
) -> Iterator[Result]:
    """Run the variants that apply to the examples, in the order of the index, and yield each result.

    Each model runs on all ``devices`` together; by default the runtime chooses. With several ``jobs``, that many
    processes find the devices by name, so the main module must be importable. ``runtime`` names the module whose Model,
    Compilation and Execution are used. Raises KeyError for an unknown variant, UnavailableDeviceError for a device.
    """
    chosen = [VARIANTS[name] for name in variants]
    found = None if devices is None else tuple(device(d) if isinstance(d, str) else d for d in devices)
    entries = corpus.select(filter)
    if jobs == 1:
        return _run_here(corpus, entries, chosen, Setting(found, strict, runtime))
    names = None if devices is None else [d if isinstance(d, str) else d.name for d in devices]
    chunk = partial(_run_chunk, corpus.path, [variant.name for variant in chosen], names, strict, runtime)
    return _run_in_processes(entries, jobs, chunk)


def match_name(pattern: str) -> Filter:
    """Return a filter by name of a tested operation, by wildcards, or by a part of the example's name."""
    if pattern in OperationCode.__members__:
        return lambda entry: pattern in entry.ops and not (pattern == COPYING and _only_copies(entry))
    if any(sign in pattern for sign in "*?["):
        return lambda entry: fnmatchcase(entry.name, pattern)
    return lambda entry: pattern in entry.name


def _only_copies(entry: Entry) -> bool:
    return COPIES in entry.name and set(entry.ops) != {COPYING}


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
    return Result(example.file, example.name, example.operations, variant.name, status, reason, seconds)


def _run_here(
    corpus: Corpus, entries: Sequence[Entry], variants: Sequence[Variant], setting: Setting
) -> Iterator[Result]:
    for file, names in by_file(entries):
        for example in corpus.load(file, names):
            for variant in variants:
                if variant.applies(example.harness):
                    yield check(example, variant, setting)


def _run_in_processes(
    entries: Sequence[Entry], jobs: int, chunk: Callable[[list[Entry]], list[Result]]
) -> Iterator[Result]:
    files = [list(group) for _, group in groupby(entries, lambda entry: entry.file)]
    work = [same[start : start + CHUNK] for same in files for start in range(0, len(same), CHUNK)]
    context = get_context("spawn")
    reader, writer = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=leave_with, initargs=(reader,))
    try:
        with starting_children():
            found = pool.map(chunk, work)
        for results in found:
            yield from results
    except BaseException:
        writer.close()  # the processes leave at once, because nobody wants the rest of their results
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        writer.close()
        reader.close()


def _run_chunk(
    path: Path,
    variants: Sequence[str],
    devices: Sequence[str] | None,
    strict: bool,
    runtime: str,
    entries: Sequence[Entry],
) -> list[Result]:
    setting = Setting(None if devices is None else tuple(map(device, devices)), strict, runtime)
    return list(_run_here(Corpus(path), entries, [VARIANTS[name] for name in variants], setting))
