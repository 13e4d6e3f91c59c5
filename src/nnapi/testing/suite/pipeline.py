"""Run a suite: select its tests, perform each in a process, run unexpected ones again, and record the results."""

import queue
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Protocol

from nnapi.testing.suite.expectations import Expectations
from nnapi.testing.suite.journal import Journal
from nnapi.testing.suite.result import Result, Status, Verdict
from nnapi.testing.suite.selection import Patterns, Shard
from nnapi.testing.suite.worker import Worker


@dataclass(frozen=True)
class Test:
    """An example and its variants. The suite knows the operations and ``task``, its own description of the example, at
    the latest when it has completed the test."""

    __test__ = False  # pytest must not collect it

    example: str
    operations: tuple[str, ...] = ()
    task: Any = None
    variants: tuple[str, ...] = ("",)


class Suite(Protocol):
    """Tests of one kind, and the way to perform them."""

    @property
    def tests(self) -> Iterable[Test]:
        """Return the tests, possibly endlessly many."""

    @property
    def batch(self) -> int:
        """Return the number of consecutive tests that one process should perform, because they share a file."""

    def open_worker(self) -> Worker: ...

    def complete(self, test: Test) -> Test | None:
        """Return the test with its operations and task; None if the suite cannot make it."""

    def perform(self, worker: Any, test: Test, variant: str) -> Result | None:
        """Return the result of one variant; None if it does not apply to the example."""

    def explain(self, worker: Any, test: Test, result: Result) -> Result:
        """Return the result of an unexpected fault with more about it, such as a file with a smaller example."""


@dataclass(frozen=True)
class Plan:
    """The tests to select, the expected results, and the file that records results."""

    expectations: Expectations = field(default_factory=Expectations)
    shard: Shard = field(default_factory=Shard)
    skip: Patterns = field(default_factory=Patterns)
    journal: Journal | None = None


Done = tuple[Test, Sequence[Result]]
"""A test, and the results of its variants."""


def name_uniquely(names: Iterable[tuple[str, str]]) -> list[str]:
    """Return names of examples for pairs of a file and a name: FILE:NAME where several files have the name."""
    pairs = list(names)
    counts = Counter(name for _, name in pairs)
    return [name if counts[name] == 1 else f"{file}:{name}" for file, name in pairs]


def run(suite: Suite, plan: Plan, jobs: int = 1) -> Iterator[Done]:
    """Run the tests of the plan's shard in ``jobs`` processes, and yield each with the results of its variants.

    One process runs the tests in order. Variants to skip have no results, and do not change shards.
    """
    workers = [suite.open_worker() for _ in range(jobs)]
    return _share(plan.shard.take(suite.tests), workers, suite, plan)


def _share(tests: Iterator[Test], workers: Sequence[Worker], suite: Suite, plan: Plan) -> Iterator[Done]:
    """Perform tests with all workers, each in a thread; raise the first error of a thread."""
    found: queue.SimpleQueue[Done | BaseException | None] = queue.SimpleQueue()
    lock, stopped = threading.Lock(), threading.Event()

    def work(worker: Worker) -> None:
        try:
            while not stopped.is_set():
                with lock:
                    batch = list(islice(tests, suite.batch))
                if not batch:
                    break
                for test in batch:
                    if stopped.is_set():
                        return
                    found.put((test, _perform(suite, worker, test, plan)))
        except BaseException as error:
            found.put(error)
        found.put(None)

    threads = [threading.Thread(target=work, args=(each,), name="nnapi-check", daemon=True) for each in workers]
    for thread in threads:
        thread.start()
    left = len(threads)
    try:
        while left:
            match found.get():
                case None:
                    left -= 1
                case BaseException() as error:
                    raise error
                case done:
                    yield done
    finally:
        stopped.set()
        for worker in workers:
            worker.stop()
        for thread in threads:
            thread.join()
        for worker in workers:
            worker.close()


def _perform(suite: Suite, worker: Worker, test: Test, plan: Plan) -> Sequence[Result]:
    known = plan.journal.find(test.example) if plan.journal is not None else None
    if known is not None:
        return [each for each in known if not plan.skip.match(each.example, each.variant, each.operations)]
    complete = suite.complete(test)
    if complete is None:
        return []
    variants = [each for each in test.variants if not plan.skip.match(test.example, each, complete.operations)]
    found = [_perform_variant(suite, worker, complete, variant, plan.expectations) for variant in variants]
    results = [result for result in found if result is not None]
    if plan.journal is not None and len(variants) == len(test.variants):
        plan.journal.add(test.example, results)
    return results


def _perform_variant(
    suite: Suite, worker: Worker, test: Test, variant: str, expectations: Expectations
) -> Result | None:
    result = suite.perform(worker, test, variant)
    if result is None:
        return None
    judged = expectations.judge(result)
    if judged.is_unexpected and expectations.flakes is not None:
        again = suite.perform(worker, test, variant)
        if again is not None and again.status is not result.status:
            return replace(result, status=Status.FLAKY, reason=_describe_both(result, again))
    return suite.explain(worker, test, result) if judged.verdict is Verdict.REGRESSION else result


def _describe_both(first: Result, second: Result) -> str:
    return "; then ".join(": ".join(filter(None, (each.status, each.reason))) for each in (first, second))
