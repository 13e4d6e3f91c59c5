"""Run every quantized conformance example on Qualcomm's NPU, as its compiler and emulation compute it.

    python -m benchmarks.htp [CORPUS] [--jobs N] [--results FILE] > docs/htp-conformance.md

An example is quantized if one of its operands is. The results are appended to FILE, if given; a later run continues.
The device `qualcomm-htp` must be installed. 4,000 examples take about an hour on two cores.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import SimpleQueue

import numpy as np

from benchmarks.accepted import generalize
from nnapi.contract.ahead_of_time import CompilesAhead
from nnapi.errors import NnapiError
from nnapi.host.installed_packages import version
from nnapi.model.model import Model
from nnapi.model.operand import Array
from nnapi.runtime.device import Device, device
from nnapi.runtime.verdicts.verdicts import need_verdicts
from nnapi.testing.build import build, run_example
from nnapi.testing.compare import judge
from nnapi.testing.conformance import COPIES, COPYING
from nnapi.testing.corpus import PUBLISHED, Corpus, Entry
from nnapi.testing.example import Example

NAME, CHIP = "qualcomm-htp", "SM8650"
PASSED, BEYOND, REFUSED, FAILED = "passed", "beyond", "refused", "failed"
FEW = 4
"""Quantization steps that the page counts separately."""
EQUAL, WITHIN, SOME, MORE, VALUES = "equal", "within tolerance", f"up to {FEW} steps", "more steps", "other values"
COLUMNS = (EQUAL, WITHIN, SOME, MORE, VALUES, REFUSED, FAILED)
SUFFIXES = (COPIES, "_all_tensors_as_inputs")
"""Ends of the names of examples that repeat others."""
RANGE = 127
"""Steps between a weight and its zero point that HTP's 8-bit weights have."""
WEIGHTED = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "GROUPED_CONV_2D", "TRANSPOSE_CONV_2D")

INTRODUCTION = """\
# Conformance of Qualcomm's NPU

<!-- Written by `python -m benchmarks.htp > docs/htp-conformance.md`. -->

This page compares the values of the NPU (HTP) in Qualcomm's Snapdragon chips with NNAPI's public examples. Each
quantized example ran on [qualcomm-htp](qualcomm.md): Qualcomm's compiler, and its emulation of the NPU. An example that
the compiler refuses in part is refused.

- **equal**: all quantized outputs are equal to the expected ones, and all others are within the tolerance.
- **within tolerance**: quantized outputs differ by no more than the tolerance of the example, one step for most.
- **up to 4 steps**, **more steps**: the largest difference of a quantized output is beyond the tolerance.
- **other values**: an output that is not quantized is beyond the tolerance.

NNAPI's specification does not say how an implementation rounds quantized values, so a difference of one step is not an
error.

"""


@dataclass(frozen=True)
class Outcome:
    """The result of an example: ``steps`` is the largest difference of a quantized output.

    ``operations`` are those that the example is about, or the first one that is refused.
    """

    name: str
    operations: tuple[str, ...]
    status: str
    steps: int = 0
    reason: str = ""
    has_wide_weights: bool = False


def is_quantized(entry: Entry) -> bool:
    return any("QUANT" in type for type in entry.types) and not entry.expect_failure


def is_copy(entry: Entry) -> bool:
    return entry.name.rstrip("_0123456789").endswith(SUFFIXES)


def check(example: Example, engine: Device) -> Outcome:
    """Run an example, if the device takes all of it."""
    names = tuple(dict.fromkeys(name for name in example.operations if name != COPYING or COPIES not in example.name))
    names = names or (COPYING,)
    try:
        model = build(example)
        verdicts = zip(model.operations, need_verdicts(engine.driver, model), strict=True)
        refusal = next(((call, verdict) for call, verdict in verdicts if not verdict.supported), None)
        if refusal:
            return Outcome(example.name, (refusal[0].name,), REFUSED, reason=generalize(refusal[1].reason))
        found = run_example(example, engine)
    except NnapiError as error:
        return Outcome(example.name, names, FAILED, reason=generalize(str(error)))
    difference, steps = judge(example, found), find_steps(example, found)
    status, reason = (PASSED, "") if difference is None else (BEYOND, generalize(difference))
    return Outcome(example.name, names, status, steps, reason, has_wide_weights(model))


def find_steps(example: Example, found: Sequence[Array]) -> int:
    """Return the largest difference of the quantized outputs; 0 if there are none, or if dimensions differ."""
    steps = [0]
    for index, made in zip(example.main.outputs, found, strict=True):
        expected = example.outputs[index]
        if "QUANT" in example.main.operands[index].type and made.shape == expected.shape and made.size:
            steps.append(int(abs(made.astype(np.int64) - expected.astype(np.int64)).max()))
    return max(steps)


def has_wide_weights(model: Model) -> bool:
    """Return whether constant weights lie more than RANGE steps from their zero point."""
    weights = [model.operands[call.inputs[1]] for call in model.operations if call.name in WEIGHTED]
    return any(
        isinstance(operand.value, np.ndarray)
        and operand.type.is_quantized
        and abs(operand.value.astype(int) - operand.type.zero_point).max(initial=0) > RANGE
        for operand in weights
    )


def check_all(examples: Iterable[Example], jobs: int, note: Callable[[Outcome], None]) -> None:
    """Run examples in ``jobs`` processes of the compiler."""
    driver = device(NAME).driver
    assert isinstance(driver, CompilesAhead)
    free: SimpleQueue[Device] = SimpleQueue()

    def run(example: Example) -> Outcome:
        engine = free.get()
        try:
            return check(example, engine)
        finally:
            free.put(engine)

    with ExitStack() as stack:
        for _ in range(jobs):
            free.put(stack.enter_context(Device(driver.retarget(CHIP))))
        with ThreadPoolExecutor(jobs) as pool:
            for outcome in pool.map(run, examples):
                note(outcome)


def page(outcomes: Sequence[Outcome], release: str, total: int) -> str:
    """Return the page about the results of ``total`` examples, as far as they have run."""
    counts = Counter(classify(each) for each in outcomes)
    ran = f"{len(outcomes):,}" if len(outcomes) == total else f"{len(outcomes):,} of {total:,}"
    lines = [INTRODUCTION, f"The examples ran with onnxruntime-qnn {release} for the chip {CHIP}.\n\n"]
    lines += _table(["examples", *COLUMNS], [[ran, *(str(counts[name]) for name in COLUMNS)]])
    kinds = ["kind", "examples", "largest difference", "operations"]
    lines += ["\n## What differs\n\n", *_table(kinds, _list_kinds(outcomes))]
    lines += ["\n## Operations\n\n", *_table(["operation", *COLUMNS, "main reason of refusal"], _list_rows(outcomes))]
    return "".join(lines)


def classify(outcome: Outcome) -> str:
    """Return the column of an outcome."""
    if outcome.status == PASSED:
        return WITHIN if outcome.steps else EQUAL
    if outcome.status == BEYOND:
        return VALUES if not outcome.steps else SOME if outcome.steps <= FEW else MORE
    return outcome.status


def _list_kinds(outcomes: Sequence[Outcome]) -> Iterator[list[str]]:
    kinds: defaultdict[str, list[Outcome]] = defaultdict(list)
    for each in outcomes:
        if each.steps or each.status == BEYOND:
            kinds[find_kind(each)].append(each)
    for kind, found in sorted(kinds.items(), key=lambda item: -len(item[1])):
        names = Counter(name for each in found for name in each.operations)
        steps = max(each.steps for each in found)
        yield [kind, str(len(found)), f"{steps} step{'s' * (steps != 1)}", ", ".join(sorted(names))]


def find_kind(outcome: Outcome) -> str:
    """Describe why the values of an outcome differ."""
    if outcome.has_wide_weights:
        return (
            f"weights of a channel lie more than {RANGE} steps from their zero point: HTP holds them in 8 bits, with a "
            "coarser scale"
        )
    if outcome.steps:
        return "rounding of results"
    return "values that are not quantized: HTP computes float32 in float16"


def _list_rows(outcomes: Sequence[Outcome]) -> Iterator[list[str]]:
    by_operation: defaultdict[str, list[Outcome]] = defaultdict(list)
    for each in outcomes:
        for name in each.operations:
            by_operation[name].append(each)
    for name, found in sorted(by_operation.items()):
        counts = Counter(map(classify, found))
        reasons = Counter(each.reason for each in found if each.status in (REFUSED, FAILED))
        reason = reasons.most_common(1)[0][0].replace("|", "\\|") if reasons else ""
        yield [f"[{name}](operations.md#{name.lower()})", *(str(counts[column] or "") for column in COLUMNS), reason]


def _table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(cells)} |\n" for cells in (heading, ["---"] * len(heading), *rows)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path, nargs="?", default=PUBLISHED)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--results", type=Path)
    options = parser.parse_args()
    lines = options.results.read_text().splitlines() if options.results and options.results.exists() else []
    outcomes = [Outcome(**{**found, "operations": tuple(found["operations"])}) for found in map(json.loads, lines)]
    done = {each.name for each in outcomes}

    def note(outcome: Outcome) -> None:
        outcomes.append(outcome)
        if options.results:
            with options.results.open("a") as file:
                file.write(json.dumps(asdict(outcome)) + "\n")

    corpus = Corpus(options.corpus)
    for are_copies in (False, True):  # copies last: they differ from others in the lifetimes of operands only

        def is_next(entry: Entry, are_copies: bool = are_copies) -> bool:
            return is_quantized(entry) and is_copy(entry) is are_copies and entry.name not in done

        check_all(corpus.examples(is_next), options.jobs, note)
    print(page(outcomes, version("onnxruntime-qnn"), len(corpus.select(is_quantized))), end="")


if __name__ == "__main__":
    main()
