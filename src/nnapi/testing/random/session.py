"""Run a session of random examples: count outcomes, and write failures to files."""

import math
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

import numpy as np

from nnapi.model.operation import Operation
from nnapi.runtime.device import device as find_device
from nnapi.testing.corpus import write
from nnapi.testing.example import Example, Harness, with_expected
from nnapi.testing.random.calls import NoCall
from nnapi.testing.random.child import Child, Find
from nnapi.testing.random.graphs import (
    PAIRED,
    find_image_readers,
    find_readers,
    random_example,
    random_image_chain,
    random_readers,
)
from nnapi.testing.random.judging import Judgement, Outcome
from nnapi.testing.random.shrinking import LIMIT, shrink
from nnapi.testing.suite.pipeline import Plan, Test
from nnapi.testing.suite.pipeline import run as run_suite
from nnapi.testing.suite.result import Result, Status
from nnapi.testing.suite.worker import PATIENCE

VALUES = {"ordinary": 0.0, "non-finite": 0.1}
"""Kinds of values, with the probability that an element is infinite, NaN, denormal or near overflow."""

OFTEN = 3
"""Failures to shrink per operation; further ones are only written to files."""


@dataclass(frozen=True)
class Failure:
    """A shrunk failure: the seed and number of its example, the reason, and the file that replays it."""

    seed: int
    number: int
    operation: str
    reason: str
    example: Example
    file: Path | None = None
    seconds: float = 0.0


@dataclass
class Report:
    """The results of a session on one device; ``failures`` are those that this session has shrunk."""

    seed: int
    device: str
    results: list[Result] = field(default_factory=list)
    counts: Counter[Outcome] = field(default_factory=Counter)
    by_operation: defaultdict[str, Counter[Outcome]] = field(default_factory=lambda: defaultdict(Counter))
    reasons: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def cases(self) -> int:
        return self.counts.total()

    def add(self, result: Result) -> None:
        outcome = Outcome(result.outcome)
        self.results.append(result)
        self.counts[outcome] += 1
        for name in result.operations:
            self.by_operation[name][outcome] += 1
        if outcome == Outcome.REFUSED:
            self.reasons[result.reason] += 1


def example_of(seed: int, number: int, values: str = "ordinary", only: tuple[Operation, ...] = ()) -> Example | None:
    """Return example ``number`` of the session with this seed; None if no draw was accepted."""
    rng = np.random.default_rng([seed, number])
    try:
        turn, rest = divmod(number, PAIRED)
        if rest == PAIRED - 1 and not only:
            example = random_readers(rng, *find_readers(seed + turn), VALUES[values])
        elif number % (2 * PAIRED) == 1 and not only:
            example = random_readers(rng, *find_image_readers(seed + turn // 2), VALUES[values])
        elif number % (2 * PAIRED) == PAIRED + 1 and not only:
            example = random_image_chain(rng, VALUES[values])
        else:
            example = random_example(rng, VALUES[values], only)
    except NoCall:
        return None
    return replace(example, name=name_example(seed, number), spec=name_example(seed, number))


def name_example(seed: int, number: int) -> str:
    return f"random_{seed}_{number}"


STATUSES = {
    Outcome.AGREED: Status.PASSED,
    Outcome.INVALID: Status.PASSED,
    Outcome.REFUSED: Status.SKIPPED,
    Outcome.FAILED: Status.FAILED,
}


@dataclass
class RandomSuite:
    """The random examples of a seed, judged on the device that ``find`` returns for a name; shrunk failures are written
    to ``folder``. The tests end after ``seconds`` or ``cases``."""

    device: str
    seed: int
    seconds: float = math.inf
    cases: int | None = None
    values: str = "ordinary"
    only: tuple[Operation, ...] = ()
    folder: Path | None = None
    find: Find = find_device
    patience: float = PATIENCE
    batch: int = 1
    failures: list[Failure] = field(default_factory=list)
    _begin: float = field(default_factory=time.monotonic)
    _judgements: dict[str, Judgement] = field(default_factory=dict)
    """The judgments of failed examples, until these are shrunk."""

    @property
    def tests(self) -> Iterator[Test]:
        for number in count() if self.cases is None else range(self.cases):
            if self.elapsed >= self.seconds:
                break
            yield Test(name_example(self.seed, number), task=number)

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self._begin

    def open_worker(self) -> Child:
        return Child(self.device, special=VALUES[self.values] > 0, patience=self.patience, find=self.find)

    def complete(self, test: Test) -> Test | None:
        example = example_of(self.seed, test.task, self.values, self.only)
        return None if example is None else replace(test, operations=example.operations, task=(test.task, example))

    def perform(self, worker: Child, test: Test, variant: str) -> Result:
        _, example = test.task
        begin = time.perf_counter()
        judgement = worker.judge(example)
        seconds = time.perf_counter() - begin
        if judgement.outcome == Outcome.FAILED:
            self._judgements[test.example] = judgement
        status = judgement.end or STATUSES[judgement.outcome]
        ran = judgement.example or example
        reason, outcome = judgement.reason, str(judgement.outcome)
        return Result("", test.example, ran.operations, variant, status, reason, seconds, ran.input_type, outcome)

    def explain(self, worker: Child, test: Test, result: Result) -> Result:
        """Shrink a failed example and write it to a file that runs by itself."""
        judgement = self._judgements.pop(test.example, None)
        if judgement is None:
            return result
        number, example = test.task
        found = self.elapsed
        known = sum(failure.operation == judgement.operation for failure in self.failures)
        smallest, latest = _shrink(worker, example, judgement, LIMIT if known < OFTEN else 0)
        file = _write(smallest, self.device, self.folder)
        self.failures.append(Failure(self.seed, number, latest.operation, latest.reason, smallest, file, found))
        return replace(result, reason=latest.reason, file=str(file or ""))


def run(
    suite: RandomSuite,
    plan: Plan | None = None,
    jobs: int = 1,
    progress: Callable[[Report], None] = lambda report: None,
) -> Report:
    """Judge the random examples of a suite; call ``progress`` after each."""
    report = Report(suite.seed, suite.device, failures=suite.failures)
    for _, results in run_suite(suite, plan or Plan(), jobs):
        for result in results:
            report.add(result)
        report.seconds = suite.elapsed
        progress(report)
    return report


def _shrink(child: Child, example: Example, judgement: Judgement, limit: float) -> tuple[Example, Judgement]:
    """Return the smallest example that still fails at the same operation, and its judgment. An error while shrinking
    is added to the reason."""
    latest = judgement

    def fails(candidate: Example) -> Example | None:
        nonlocal latest
        result = child.judge(candidate)
        if result.outcome != Outcome.FAILED or result.operation != judgement.operation:
            return None
        latest = result
        return result.example

    smallest, errors = shrink(judgement.example or example, fails, limit)
    if errors:
        latest = replace(latest, reason=f"{latest.reason} (shrinking it raised {errors})")
    return replayable(smallest), latest


def _write(example: Example, device: str, folder: Path | None) -> Path | None:
    if folder is None:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{Path(device).name}_{example.name}.npz"  # the name of a profile's device is a path
    write(file, [example])
    return file


def replayable(example: Example) -> Example:
    """Return the example in the form that a conformance run accepts. Outputs that are not known are ignored."""
    operands = example.main.operands
    unknown = {
        i: np.zeros(operands[i].dimensions, operands[i].operand_type.dtype)
        for i in example.main.outputs
        if i not in example.outputs
    }
    example = example.with_operands(
        {
            i: replace(o, name=o.name or f"operand{i}", is_ignored=o.is_ignored or i in unknown)
            for i, o in enumerate(operands)
        }
    )
    harness = Harness(validation=example.expect_failure, generated=not example.expect_failure)
    return with_expected(replace(example, harness=harness), {**example.outputs, **unknown})
