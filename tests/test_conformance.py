"""The published conformance examples: on the reference in the ways of the public suites, plainly on engines.

Split into parts of about the same size, so that several processes can share them. A part has whole files, because
reading one takes as long as running some of its examples.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path

import pytest

from nnapi.drivers.isolated import Isolated
from nnapi.model.operation import REGISTRY
from nnapi.runtime.device import Device, device
from nnapi.testing.conformance import check, run
from nnapi.testing.corpus import Corpus, Entry
from nnapi.testing.example import Example
from nnapi.testing.suite.result import Result, Status
from nnapi.testing.variants import VARIANTS, Setting
from tests.first_examples import find_first, is_own, load_kinds

PARTS = {"AIDL_V2": 1, "AIDL_V3": 1, "V1_0": 1, "V1_1": 1, "V1_2": 10, "V1_3": 5, "V1_3_cts_only": 1}
ENGINES = {"xnnpack": 4, "openvino": 6}
"""How many parts each engine's run has."""
REPEATED = {"xnnpack": 1, "openvino": 8}
"""One in how many examples of a kind that another one has shown, or whose inputs an ADD copies, each engine runs.
OpenVINO takes 30 ms to compile one. ``nnapi check`` runs all."""
ISOLATED = "nnapi-reference", "xnnpack-cpu", "openvino-cpu"
STEP = 48
"""Beside the first examples, one in so many goes to the reference in a process of its own. Engines, which compute there
as they do here, get one in four of the first. ``nnapi check`` gives all with ``NNAPI_ISOLATED=all``."""
WITH_VALUES = {"plain", "signed", "compliance", "validation"}
"""Variants that run all examples. What the others do depends on operations and operands but not on values, so one
example of each kind is run. ``nnapi check`` runs all."""
OTHER_CALLS = {"memory", "fenced", "async", "burst", "cached"}
"""Variants that run the model of ``plain`` by other calls, which do not depend on the tensors within it either."""
WITH_THE_SYSTEM = {"memory", "fenced", "cached"}
"""Variants of which an example may be skipped, with its reason."""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def known(corpus: Corpus) -> list[Entry]:
    """The examples of the operations that are declared."""
    declared = {operation.name for operation in REGISTRY.values()}
    return corpus.select(lambda entry: declared.issuperset(entry.ops))


def take_part(entries: Sequence[Entry], part: int, parts: int) -> list[Entry]:
    files = set(sorted({entry.file for entry in entries})[part::parts])
    return [entry for entry in entries if entry.file in files]


def run_on_the_reference(examples: Iterable[tuple[Example, bool]]) -> Iterator[Result]:
    setting = Setting((device("nnapi-reference"),), strict=True)
    for example, is_new in examples:
        for variant in VARIANTS.values():
            is_tried = is_new and (variant.name not in OTHER_CALLS or is_own(example.name))
            if variant.applies(example.harness) and (variant.name in WITH_VALUES or is_tried):
                yield check(example, variant, setting)


def choose(examples: Iterable[tuple[Example, bool]], repeated: int) -> Iterator[Example]:
    for number, (example, is_new) in enumerate(examples):
        if (is_new and "internal" not in example.name) or number % repeated == 0:
            yield example


def need_no_failure(found: Iterable[Result]) -> list[Result]:
    results = list(found)
    failed = [result for result in results if result.status == Status.FAILED]
    report = "\n".join(f"{result.example}, {result.variant}: {result.reason}" for result in failed[:20])
    assert not failed, f"{len(failed)} of {len(results)} failed\n{report}"
    return results


def test_every_folder_is_covered(corpus: Corpus) -> None:
    assert len(corpus.entries) == 9374
    assert {Path(entry.file).parent.name for entry in corpus.entries} == set(PARTS)


@pytest.mark.parametrize(("folder", "part"), [(folder, part) for folder in PARTS for part in range(PARTS[folder])])
def test_nothing_fails_on_the_reference(corpus: Corpus, known: list[Entry], folder: str, part: int) -> None:
    """Integers must be exact."""
    mine = take_part([entry for entry in known if entry.file.startswith(f"{folder}/")], part, PARTS[folder])
    examples = list(load_kinds(corpus, mine))
    results = need_no_failure(run_on_the_reference(examples))
    assert {result.variant for result in results if result.status == Status.SKIPPED} <= WITH_THE_SYSTEM
    ran = {result.example for result in results if result.status == Status.PASSED}
    assert ran == {example.name for example, _ in examples}, "each example is either valid or wrong on purpose"
    assert ran.issuperset(entry.name for entry in mine if is_own(entry.name))


@pytest.mark.engine
@pytest.mark.parametrize(("name", "part"), [(name, part) for name in ENGINES for part in range(ENGINES[name])])
def test_nothing_fails_on_an_engine(corpus: Corpus, name: str, part: int) -> None:
    """An operation that the device refuses has a reason."""
    setting, plain = Setting((engine(name),)), VARIANTS["plain"]
    examples = choose(load_kinds(corpus, take_part(corpus.entries, part, ENGINES[name])), REPEATED[name])
    results = need_no_failure(check(each, plain, setting) for each in examples if plain.applies(each.harness))
    assert all(result.reason for result in results if result.status is Status.SKIPPED)
    assert sum(result.status is Status.PASSED for result in results) > len(results) / 2


def engine(name: str) -> Device:
    """The CPU's device of an engine; skips where the engine is not installed."""
    try:
        found = import_module(f"nnapi.drivers.{name}").driver()
    except ImportError as error:
        pytest.skip(f"{name}: {error}")
    return Device(found[0] if isinstance(found, list) else found)


@pytest.mark.engine
@pytest.mark.parametrize("name", ISOLATED)
def test_nothing_fails_in_a_process_of_its_own(corpus: Corpus, name: str) -> None:
    """The process returns the same answer as the driver in this process."""
    if name != "nnapi-reference":
        engine(name.removesuffix("-cpu"))
    with Device(Isolated(name)) as device:
        is_reference = name == "nnapi-reference"
        first = list(itertools.chain.from_iterable(find_first(corpus).values()))
        chosen = {*first, *corpus.entries[::STEP]} if is_reference else {*first[::4]}
        results = need_no_failure(run(corpus, [device], ["plain"], chosen.__contains__, strict=is_reference))
        assert device.driver.pid is not None  # type: ignore[attr-defined]
    assert sum(result.status is Status.PASSED for result in results) > len(results) / 2
