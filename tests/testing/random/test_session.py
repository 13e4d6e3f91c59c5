"""Sessions: the same seed gives the same, what fails is written."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nnapi.codes import OperationCode
from nnapi.model.operation import REGISTRY
from nnapi.testing.conformance import run as replay
from nnapi.testing.corpus import Corpus
from nnapi.testing.random import session
from nnapi.testing.random.child import Child
from nnapi.testing.random.judging import Judgement, Outcome, judge
from nnapi.testing.random.session import RandomSuite, example_of, run
from nnapi.testing.suite.result import Status
from tests.testing.testing_cases import spoilt

RELU = (REGISTRY[OperationCode.RELU],)


def told(seed: int, number: int, values: str = "ordinary") -> Any:
    example = example_of(seed, number, values)
    if example is None:
        return None
    inputs = {i: None if a is None else (a.shape, a.tobytes()) for i, a in example.inputs.items()}
    return [(o.type, o.dimensions, o.scale, o.lifetime) for o in example.main.operands], example.main.operations, inputs


@pytest.mark.slow
def test_a_seed_gives_the_same_examples_again() -> None:
    assert [told(1, number) for number in range(15)] == [told(1, number) for number in range(15)]
    assert [told(1, number) for number in range(15)] != [told(2, number) for number in range(15)]


@pytest.mark.slow
def test_examples_are_single_operations_and_graphs() -> None:
    counts = [len(example.main.operations) for n in range(40) if (example := example_of(3, n)) is not None]
    assert 1 in counts
    assert max(counts) > 3


@pytest.mark.slow
def test_the_reference_agrees_on_random_examples() -> None:
    report = run(RandomSuite("nnapi-reference", 12, cases=25))
    assert report.cases == sum(example_of(12, number) is not None for number in range(25)) > 20
    assert [failure.reason for failure in report.failures] == []
    assert report.by_operation


def test_failures_are_shrunk_and_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    device = spoilt(3)
    monkeypatch.setattr(Child, "judge", lambda self, example: judge(example, device))
    report = run(RandomSuite("nnapi-reference", 5, only=RELU, cases=2, folder=tmp_path))
    assert report.counts[Outcome.FAILED] == len(report.failures) > 0
    for failure in report.failures:
        assert failure.operation == "RELU"
        (result,) = (r for r in replay(Corpus(failure.file), [device], ["plain"]))
        assert result.status == Status.FAILED
        (result,) = (r for r in replay(Corpus(failure.file), ["nnapi-reference"], ["plain"]))
        assert result.status == Status.PASSED
        assert failure.example.inputs[0].size == 1


def test_failures_of_a_profiles_device_are_written_into_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = spoilt(3)
    monkeypatch.setattr(Child, "judge", lambda self, example: judge(example, device))
    report = run(RandomSuite("profiles/phone.toml", 5, only=RELU, cases=2, folder=tmp_path))
    assert report.failures
    for failure in report.failures:
        assert failure.file.parent == tmp_path
        assert failure.file.name.startswith("phone.toml_random_5_")


def test_an_error_while_shrinking_is_part_of_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "shrink", lambda example, fails, limit: (example, "TypeError: unhashable"))
    failed = lambda self, example: Judgement(Outcome.FAILED, "no", "RELU", example)  # noqa: E731
    monkeypatch.setattr(Child, "judge", failed)
    (failure,) = run(RandomSuite("nnapi-reference", 5, only=RELU, cases=1)).failures
    assert failure.reason == "no (shrinking it raised TypeError: unhashable)"


def test_a_failure_that_recurs_is_made_small_only_so_often(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = []
    monkeypatch.setattr(session, "shrink", lambda example, fails, limit: limits.append(limit) or (example, ""))
    failed = lambda self, example: Judgement(Outcome.FAILED, "no", "RELU", example)  # noqa: E731
    monkeypatch.setattr(Child, "judge", failed)
    run(RandomSuite("nnapi-reference", 5, only=RELU, cases=session.OFTEN + 2))
    assert [limit > 0 for limit in limits] == [True] * session.OFTEN + [False] * 2


@pytest.mark.slow
def test_special_values() -> None:
    drawn = [example_of(1, n, "non-finite") for n in range(60)]
    arrays = [a for e in drawn if e is not None for a in e.inputs.values() if a is not None and a.dtype.kind == "f"]
    assert any(np.isnan(array).any() for array in arrays)
