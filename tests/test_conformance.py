"""The published conformance examples on the reference, in the ways in which the public suites run them.

Split into parts of about the same size, so that several processes can share them.
"""

from collections.abc import Iterable
from pathlib import Path

import pytest

from nnapi.model.operation import REGISTRY
from nnapi.testing.conformance import Result, Status, run
from nnapi.testing.corpus import Corpus, Entry

PARTS = {"AIDL_V2": 1, "AIDL_V3": 1, "V1_0": 1, "V1_1": 1, "V1_2": 10, "V1_3": 5, "V1_3_cts_only": 1}
EVERY_EXAMPLE = ("plain", "dynamic", "signed", "async", "burst", "compliance", "validation")
EVERY_TENTH = ("memory", "fenced", "cached")

pytestmark = pytest.mark.shared


@pytest.fixture(scope="module")
def corpus(shared: Path) -> Corpus:
    return Corpus(shared / "conformance")


@pytest.fixture(scope="module")
def runnable(corpus: Corpus) -> list[Entry]:
    """The examples of the operations that are declared."""
    known = {operation.name for operation in REGISTRY.values()}
    return corpus.select(lambda entry: known.issuperset(entry.ops))


def passed(corpus: Corpus, entries: Iterable[Entry], variants: Iterable[str]) -> list[Result]:
    """Results of which none is a failure; integers must be exact."""
    results = list(run(corpus, ["nnapi-reference"], variants, set(entries).__contains__, strict=True))
    failed = [result for result in results if result.status == Status.FAILED]
    report = "\n".join(f"{result.example}, {result.variant}: {result.reason}" for result in failed[:20])
    assert not failed, f"{len(failed)} of {len(results)} failed\n{report}"
    return results


def test_every_folder_is_covered(corpus: Corpus) -> None:
    assert {Path(entry.file).parent.name for entry in corpus.entries} == set(PARTS)


@pytest.mark.parametrize(("folder", "part"), [(folder, part) for folder in PARTS for part in range(PARTS[folder])])
def test_nothing_fails(corpus: Corpus, runnable: list[Entry], folder: str, part: int) -> None:
    mine = [entry for entry in runnable if entry.file.startswith(f"{folder}/")][part :: PARTS[folder]]
    results = passed(corpus, mine, EVERY_EXAMPLE)
    assert not any(result.status == Status.SKIPPED for result in results)
    ran = {result.example for result in results}
    assert ran == {entry.name for entry in mine}, "each example is either valid or wrong on purpose"


@pytest.mark.parametrize("variant", EVERY_TENTH)
def test_nothing_fails_in_a_sample(corpus: Corpus, runnable: list[Entry], variant: str) -> None:
    results = passed(corpus, runnable[::10], [variant])
    assert results
    if all(result.status == Status.SKIPPED for result in results):
        pytest.skip(results[0].reason)
