"""A session of random examples, with its counts and its failures as files."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import TypeAlias

import numpy as np

from nnapi.errors import NnapiError
from nnapi.model.operand import Array
from nnapi.model.operation import Operation
from nnapi.testing.corpus import write
from nnapi.testing.example import Example, Harness, OperandSpec, with_expected
from nnapi.testing.random.calls import NoCall
from nnapi.testing.random.child import Child
from nnapi.testing.random.deviation import Computation
from nnapi.testing.random.graphs import PAIRED, find_image_readers, find_readers, random_example, random_readers
from nnapi.testing.random.judging import Judgement, Outcome
from nnapi.testing.random.subgraphs import CONSTANTS, find_given, keep

VALUES = {"ordinary": 0.0, "non-finite": 0.1}
"""Kinds of values, with the probability of one that is infinite, NaN, denormal or nearly too large."""

OFTEN = 3
"""Failures of one operation that are made small; others of it are only written."""


@dataclass(frozen=True)
class Failure:
    """A failure, shrunk: which example of which seed it was, what is wrong, the file that replays it."""

    seed: int
    number: int
    device: str
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
    """Return the example of that number in the session of that seed; None where the draw came to nothing."""
    rng = np.random.default_rng([seed, number])
    try:
        turn, rest = divmod(number, PAIRED)
        if rest == PAIRED - 1 and not only:
            example = random_readers(rng, *find_readers(seed + turn), VALUES[values])
        elif number % (2 * PAIRED) == 1 and not only:
            example = random_readers(rng, *find_image_readers(seed + turn // 2), VALUES[values])
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
) -> Report:
    """Judge random examples for ``seconds`` or ``cases``. Call ``progress`` after each, write shrunk failures."""
    report = Report(seed, device)
    begin = time.monotonic()
    with Child(device, special=VALUES[values] > 0) as child:
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
                failure = Failure(seed, number, device, latest.operation, latest.reason, smallest, file, found)
                report.failures.append(failure)
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
    """Return the smallest example that still fails at the same operation, and its judgment."""
    latest = judgement

    def fails(candidate: Example) -> Example | None:
        nonlocal latest
        result = child.judge(candidate)
        if result.outcome != Outcome.FAILED or result.operation != judgement.operation:
            return None
        latest = result
        return result.example

    return replayable(shrink(judgement.example or example, fails, limit)), latest


def _write(example: Example, device: str, folder: Path | None) -> Path | None:
    if folder is None:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{Path(device).name}_{example.name}.npz"  # a profile's device is named by its path
    write(file, [example])
    return file


def replayable(example: Example) -> Example:
    """Return the example as a conformance run takes it."""
    operands = tuple(replace(o, name=o.name or f"operand{index}") for index, o in enumerate(example.main.operands))
    outputs = {
        index: example.outputs.get(index, np.zeros(operands[index].dimensions, operands[index].operand_type.dtype))
        for index in example.main.outputs
    }
    harness = Harness(validation=example.expect_failure, generated=not example.expect_failure)
    return with_expected(replace(example, main=replace(example.main, operands=operands), harness=harness), outputs)


# Shrinking of a failure: fewer operations, smaller dimensions, plainer values, for as long as it still fails

Fails = Callable[[Example], Example | None]
"""Returns the remainder of an example that fails; None of one that does not."""
Ways = Callable[[Example], Iterator[Example]]
Place: TypeAlias = tuple[int, int]
"""An operand's index and one of its axes."""
LIMIT = 15.0


def shrink(example: Example, fails: Fails, limit: float = LIMIT) -> Example:
    """Return the smallest example found in that time that still fails."""
    end = time.monotonic() + limit
    before = None
    while example is not before:
        before = example
        for ways in (_set_known_dimensions, _fewer_operations, _smaller_dimensions, _plainer_values):
            example = _as_long_as(example, ways, fails, end)
    return example


def _as_long_as(example: Example, ways: Ways, fails: Fails, end: float) -> Example:
    while True:
        for candidate in ways(example):
            if time.monotonic() > end:
                return example
            still = fails(candidate)
            if still is not None:
                example = still
                break
        else:
            return example


def _fewer_operations(example: Example) -> Iterator[Example]:
    """Yield examples with the last operation, halves, and all but one."""
    count = len(example.main.operations)
    if count < 2 or example.referenced:
        return
    computation = Computation(example)
    try:
        for number in range(count):
            computation.run(number)
    except NnapiError:
        return
    numbers = list(range(count))
    for kept in (numbers[-1:], numbers[count // 2 :], numbers[: count // 2]):
        yield keep(example, kept, computation.values)
    for gone in numbers:
        yield keep(example, [number for number in numbers if number != gone], computation.values)


def _set_known_dimensions(example: Example) -> Iterator[Example]:
    """Yield the example with static dimensions, if any was unspecified."""
    operands = list(example.main.operands)
    for index, array in example.inputs.items():
        if array is not None:
            operands[index] = replace(operands[index], dimensions=array.shape)
    if any(old.dimensions != new.dimensions for old, new in zip(example.main.operands, operands, strict=True)):
        yield replace(example, main=replace(example.main, operands=tuple(operands)))


def _smaller_dimensions(example: Example) -> Iterator[Example]:
    """Yield examples with a smaller dimension, at one position or wherever it occurs."""
    if example.referenced:
        return
    by_dimension: defaultdict[int, list[Place]] = defaultdict(list)
    for index, operand in enumerate(example.main.operands):
        if index in example.main.inputs or operand.lifetime in CONSTANTS:
            for axis, dimension in enumerate(operand.dimensions):
                by_dimension[dimension].append((index, axis))
    for dimension in sorted((dimension for dimension in by_dimension if dimension > 1), reverse=True):
        same = by_dimension[dimension]
        for new in dict.fromkeys((1, dimension // 2, dimension - 1)):
            yield resize(example, dict.fromkeys(same, new))
            if len(same) > 1:
                for one in same:
                    yield resize(example, {one: new})


def resize(example: Example, dimensions: Mapping[Place, int]) -> Example:
    """Return the example with other dimensions, its data cut, and unspecified dimensions of results."""
    operands, inputs = [], dict(example.inputs)
    written = {i for operation in example.main.operations for i in operation.outputs}
    for index, operand in enumerate(example.main.operands):
        if index in written:
            operands.append(replace(operand, dimensions=(0,) * len(operand.dimensions)))
            continue
        wanted = tuple(dimensions.get((index, axis), dimension) for axis, dimension in enumerate(operand.dimensions))
        operands.append(_cut(operand, wanted))
        array = inputs.get(index)
        if array is not None:
            inputs[index] = _corner(array, tuple(new or old for new, old in zip(wanted, array.shape, strict=True)))
    return replace(example, main=replace(example.main, operands=tuple(operands)), inputs=inputs, outputs={})


def _cut(operand: OperandSpec, dimensions: tuple[int, ...]) -> OperandSpec:
    quant = operand.channel_quant
    if quant:
        quant = replace(quant, scales=quant.scales[: dimensions[quant.channel_dim]])
    data = None if operand.data is None else _corner(operand.data, dimensions)
    return replace(operand, dimensions=dimensions, data=data, channel_quant=quant)


def _corner(array: Array, dimensions: tuple[int, ...]) -> Array:
    return np.ascontiguousarray(array[tuple(slice(dimension) for dimension in dimensions)]).reshape(dimensions)


def _plainer_values(example: Example) -> Iterator[Example]:
    for index, operand in enumerate(example.main.operands):
        array = find_given(example, index)
        if array is None or not array.size or not operand.type.startswith("TENSOR"):
            continue
        for plain in _plainer(array, operand):
            yield with_value(example, index, plain)


def with_value(example: Example, index: int, array: Array) -> Example:
    if index in example.inputs:
        return replace(example, inputs={**example.inputs, index: array})
    operands = list(example.main.operands)
    operands[index] = replace(operands[index], data=array)
    return replace(example, main=replace(example.main, operands=tuple(operands)))


def _plainer(array: Array, operand: OperandSpec) -> Iterator[Array]:
    """Yield plainer values: zero, one, the first element throughout, integers."""
    if operand.type == "TENSOR_INT32" and not operand.scale:
        return  # positions and dimensions: other values mean something else
    zero, same = (np.full_like(array, value) for value in (operand.zero_point, array.flat[0]))
    is_float = array.dtype.kind == "f"
    rounded = np.where(np.isfinite(array), np.round(array), array).astype(array.dtype)
    for choice in (zero, np.ones_like(array), same, rounded) if is_float else (zero, same):
        if np.array_equal(array, choice, equal_nan=is_float):
            return
        yield choice
