"""Run a session of random examples: count outcomes, and write failures to files."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable
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
    seed: int
    device: str
    counts: Counter[Outcome] = field(default_factory=Counter)
    by_operation: defaultdict[str, Counter[Outcome]] = field(default_factory=lambda: defaultdict(Counter))
    reasons: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def cases(self) -> int:
        return self.counts.total()


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
    return replace(example, name=f"random_{seed}_{number}", spec=f"random_{seed}_{number}")


def run(
    device: str,
    seed: int,
    seconds: float,
    *,
    values: str = "ordinary",
    only: tuple[Operation, ...] = (),
    folder: Path | None = None,
    cases: int | None = None,
    progress: Callable[[Report], None] = lambda report: None,
    find: Find = find_device,
) -> Report:
    """Judge random examples for ``seconds`` or ``cases``; call ``progress`` after each, and write shrunk failures.

    ``find`` returns the device with the name ``device``.
    """
    report = Report(seed, device)
    begin = time.monotonic()
    with Child(device, special=VALUES[values] > 0, find=find) as child:
        for number in count() if cases is None else range(cases):
            if time.monotonic() >= begin + seconds:
                break
            example = example_of(seed, number, values, only)
            if example is None:
                continue
            judgement = child.judge(example)
            _count(report, example, judgement)
            if judgement.outcome == Outcome.FAILED:
                found = time.monotonic() - begin
                known = sum(failure.operation == judgement.operation for failure in report.failures)
                limit = LIMIT if known < OFTEN else 0
                smallest, latest = _shrink(child, example, judgement, limit)
                file = _write(smallest, device, folder)
                report.failures.append(Failure(seed, number, latest.operation, latest.reason, smallest, file, found))
            report.seconds = time.monotonic() - begin
            progress(report)
    return report


def _count(report: Report, example: Example, judgement: Judgement) -> None:
    report.counts[judgement.outcome] += 1
    ran = judgement.example or example
    for name in ran.operations:
        report.by_operation[name][judgement.outcome] += 1
    if judgement.outcome == Outcome.REFUSED:
        report.reasons[judgement.reason] += 1


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
    """Return the example in the form that a conformance run accepts."""
    operands = example.main.operands
    outputs = {
        index: example.outputs.get(index, np.zeros(operands[index].dimensions, operands[index].operand_type.dtype))
        for index in example.main.outputs
    }
    example = example.with_operands({i: replace(o, name=o.name or f"operand{i}") for i, o in enumerate(operands)})
    harness = Harness(validation=example.expect_failure, generated=not example.expect_failure)
    return with_expected(replace(example, harness=harness), outputs)
