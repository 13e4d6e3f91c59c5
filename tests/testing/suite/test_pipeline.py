"""The pipeline of a suite, with tests that are performed here; tests/cli/test_check_lists.py has that of devices."""

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from nnapi.testing.suite.expectations import Expectations
from nnapi.testing.suite.journal import Journal
from nnapi.testing.suite.pipeline import Plan, Test, run
from nnapi.testing.suite.result import Result, Status
from nnapi.testing.suite.selection import Patterns, Shard
from nnapi.testing.suite.worker import Worker


@dataclass
class Numbers:
    """Endless tests, whose odd ones fail, and which even say so when they are explained."""

    batch: int = 1
    performed: list[str] = field(default_factory=list)
    flaky: frozenset[int] = frozenset()
    workers: list[Worker] = field(default_factory=list)
    raises: int = -1

    @property
    def tests(self) -> Any:
        return (Test(f"n{number}", task=number, variants=("a", "b")) for number in count())

    def open_worker(self) -> Worker:
        self.workers.append(Worker(dict))  # type: ignore[arg-type]  # it never starts
        return self.workers[-1]

    def complete(self, test: Test) -> Test | None:
        return None if test.task % 5 == 4 else Test(test.example, (f"OP{test.task % 3}",), test.task, test.variants)

    def perform(self, worker: Worker, test: Test, variant: str) -> Result | None:
        if variant == "b" and test.task % 2 == 0:
            return None
        if test.task == self.raises:
            raise ZeroDivisionError("by 0")
        name = f"{test.example}/{variant}"
        status = Status.FAILED if test.task % 2 else Status.PASSED
        if test.task in self.flaky and name in self.performed:
            status = Status.PASSED
        self.performed.append(name)
        return Result("", test.example, test.operations, variant, status, "odd" if status is Status.FAILED else "")

    def explain(self, worker: Worker, test: Test, result: Result) -> Result:
        return Result("explained", test.example, result.operations, result.variant, result.status, result.reason)


def take(suite: Numbers, plan: Plan, number: int, jobs: int = 1) -> list[Result]:
    """Return the results of the first tests, and end the run."""
    running = run(suite, plan, jobs)
    found = [result for _, (_, results) in zip(range(number), running, strict=False) for result in results]
    running.close()  # type: ignore[attr-defined]  # it is a generator
    return found


def named(results: Sequence[Result]) -> list[str]:
    return [result.test for result in results]


def test_variants_that_do_not_apply_have_no_result() -> None:
    results = take(Numbers(), Plan(), 5)
    assert named(results) == ["n0/a", "n1/a", "n1/b", "n2/a", "n3/a", "n3/b"]
    assert [result.file for result in results] == ["", "explained", "explained", "", "explained", "explained"]


def test_lists_of_skipped_tests_do_not_change_shards() -> None:
    assert named(take(Numbers(), Plan(shard=Shard(2, 2)), 3)) == ["n1/a", "n1/b", "n3/a", "n3/b", "n5/a", "n5/b"]
    skip = Patterns(frozenset({"n1", "n3/b", "OP2"}))
    assert named(take(Numbers(), Plan(shard=Shard(2, 2), skip=skip), 3)) == ["n3/a"]


def test_unexpected_results_are_repeated_once() -> None:
    suite = Numbers(flaky=frozenset({3}))
    results = take(suite, Plan(Expectations(flakes=Patterns())), 4)
    assert [str(result.status) for result in results] == ["passed", "failed", "failed", "passed", "flaky", "flaky"]
    assert results[-1].reason == "failed: odd; then passed"
    assert (suite.performed.count("n1/a"), suite.performed.count("n2/a"), suite.performed.count("n3/a")) == (2, 1, 2)


def record(file: Path, number: int, skip: Patterns | None = None) -> None:
    """Record the first tests; the workers have recorded more of them."""
    take(Numbers(), Plan(skip=skip or Patterns(), journal=Journal(file, {})), number)
    file.write_text("".join(file.read_text().splitlines(keepends=True)[: number + 1]))


def test_recorded_tests_are_not_performed_again(tmp_path: Path) -> None:
    second = Numbers()
    record(tmp_path / "j", 3)
    assert named(take(second, Plan(journal=Journal(tmp_path / "j", {})), 4)) == named(take(Numbers(), Plan(), 4))
    assert "n0/a" not in second.performed
    assert "n3/a" in second.performed
    skip = Patterns(frozenset({"n1"}))
    assert named(take(Numbers(), Plan(skip=skip, journal=Journal(tmp_path / "j", {})), 3)) == ["n0/a", "n2/a"]


def test_a_skipped_variant_runs_when_the_list_becomes_shorter(tmp_path: Path) -> None:
    skip = Patterns(frozenset({"n1/a", "n3"}))
    record(tmp_path / "j", 2, skip)
    recorded = [json.loads(line).get("example") for line in (tmp_path / "j").read_text().splitlines()]
    assert recorded == [None, "n0", "n2"]
    assert named(take(Numbers(), Plan(journal=Journal(tmp_path / "j", {})), 4)) == named(take(Numbers(), Plan(), 4))


@pytest.mark.parametrize("batch", [1, 4])
def test_several_workers_share_the_tests(batch: int) -> None:
    suite = Numbers(batch=batch)
    results = take(suite, Plan(), 20, jobs=3)
    assert len(set(named(results))) == len(results)
    assert len(suite.workers) == 3


def test_an_error_ends_the_run_and_its_threads() -> None:
    before = threading.active_count()
    with pytest.raises(ZeroDivisionError, match="by 0"):
        take(Numbers(raises=3), Plan(), 20, jobs=2)
    assert threading.active_count() == before
