"""Write the operator patterns that the WebGPU accelerator computes correctly to ``drivers/webgpu/proven_patterns.txt``.

    python -m tools.webgpu_patterns [NAME]

The program runs on the accelerator each conformance example whose operations all have lowering rules, and the small
models of :mod:`tools.webgpu_models`, which it compares with the reference. A correct result proves all patterns of its
model. A wrong result blames, of the patterns of its model, the first nonempty set of these:

1. those that smaller models blame
2. those that no correct result proves
3. those that occur in correct results only together with all the other patterns of the model
4. those that no model with a single pattern proves
5. all

A pattern is written if a result proves it and none blames it. Run the program with Mesa's lavapipe and
NNAPI_WEBGPU_SOFTWARE=1; it takes a quarter of an hour. With NAME, it runs only examples with NAME in their names, and
writes no file.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from tempfile import TemporaryDirectory
from typing import NamedTuple

import nnapi
from nnapi.contract.driver import Driver, DriverDiedError
from nnapi.drivers.isolated import Isolated
from nnapi.drivers.litert.lowering import Lowered, lower_model
from nnapi.drivers.webgpu import search
from nnapi.drivers.webgpu.driver import WebGpuDriver
from nnapi.drivers.webgpu.lowering import WebGpuLowering, adapt_graph
from nnapi.drivers.webgpu.patterns import describe_pattern
from nnapi.errors import NnapiError
from nnapi.model.model import Model
from nnapi.model.operand import Array, Shape
from nnapi.testing.build import build
from nnapi.testing.compare import compare, tolerance_for
from nnapi.testing.conformance import check
from nnapi.testing.corpus import open_published
from nnapi.testing.example import Criterion
from nnapi.testing.suite.result import Result, Status
from nnapi.testing.variants import VARIANTS, Setting
from tools import size
from tools.webgpu_models import draw_inputs, make_models

BROKEN = "refuses what it made itself"
FILE = size.REPOSITORY / "src" / "nnapi" / "drivers" / "webgpu" / "proven_patterns.txt"
PATIENCE = 60.0
"""Seconds after which the accelerator counts as hanging."""


class UncheckedLowering(WebGpuLowering):
    """Lowers every pattern, proven or not."""

    def is_proven(self, pattern: str) -> bool:
        return True


class Unchecked(WebGpuDriver):
    """The device with :class:`UncheckedLowering`: it accepts all operations with lowering rules."""

    patience = PATIENCE

    def lower(self, model: Model, shapes: Sequence[Shape | None] | None = None) -> Lowered:
        return lower_model(model, shapes, UncheckedLowering)


class Trial(NamedTuple):
    """The result of an example or model: the patterns of its operators, and why it is wrong, if it is."""

    name: str
    patterns: frozenset[str]
    is_right: bool
    reason: str


def try_examples(driver: Driver, is_wanted: Callable[[str], bool]) -> Iterator[Trial]:
    """Run every example whose operations all have rules on the accelerator."""
    device = nnapi.Device(Isolated(driver, known=driver, patience=PATIENCE))
    setting = Setting((device,))
    for example in open_published().examples(lambda entry: not entry.expect_failure and is_wanted(entry.name)):
        if not VARIANTS["plain"].applies(example.harness):
            continue
        try:
            patterns = find_patterns(build(example))
        except NnapiError:
            continue
        if patterns:
            result = check(example, VARIANTS["plain"], setting)
            if not is_refused(result):
                yield Trial(example.name, patterns, result.status == Status.PASSED, result.reason)
    device.close()


def try_models(driver: Driver) -> Iterator[Trial]:
    """Run the small models on the accelerator and on the reference."""
    device = nnapi.Device(Isolated(driver, known=driver, patience=PATIENCE))
    reference = nnapi.device("nnapi-reference")
    for model in make_models():
        patterns = find_patterns(model)
        if patterns:
            inputs = draw_inputs(model)
            try:
                found = nnapi.compile(model, device).run(*inputs)
            except NnapiError as error:
                if DriverDiedError.__name__ in type(error).__name__ or BROKEN in str(error):
                    yield Trial(model.name, patterns, False, str(error))
                continue
            expected = nnapi.compile(model, reference).run(*inputs)
            reason = find_difference(model, found, expected)
            yield Trial(model.name, patterns, not reason, reason)
    device.close()


def find_difference(model: Model, found: Sequence[Array], expected: Sequence[Array]) -> str:
    """Return a message about the first wrong result; empty if all are within NNAPI's tolerances."""
    for index, actual, right in zip(model.outputs, found, expected, strict=True):
        tolerance = tolerance_for(model.operands[index].type.name, Criterion(), strict=True)
        if difference := compare(actual, right, tolerance):
            return difference
    return ""


def find_patterns(model: Model) -> frozenset[str]:
    """Return the patterns of a model's operators; none if an operation has no rule or its rule refuses it."""
    found = lower_model(model, None, UncheckedLowering)
    if not all(verdict.supported for verdict in found.verdicts):
        return frozenset()
    return frozenset(map(describe_pattern, adapt_graph(found.graph).operators))


def is_refused(result: Result) -> bool:
    """Return whether an example was refused, so that it has no result."""
    reason = result.reason
    is_broken = DriverDiedError.__name__ in reason or BROKEN in reason
    return result.status == Status.SKIPPED or ("failed to prepare" in reason and not is_broken)


def judge_patterns(trials: Iterable[Trial]) -> tuple[set[str], Counter[str]]:
    """Return the proven patterns, and the blamed patterns with the number of wrong results that blame them."""
    trials = list(trials)
    proven = set().union(*(trial.patterns for trial in trials if trial.is_right))
    right = {trial.patterns for trial in trials if trial.is_right}
    alone = set().union(*(patterns for patterns in right if len(patterns) == 1))
    blamed: Counter[str] = Counter()
    for trial in sorted(trials, key=lambda trial: len(trial.patterns)):
        if not trial.is_right:
            patterns = trial.patterns
            known = patterns & set(blamed)
            bound = {
                pattern for pattern in patterns if all(patterns <= others for others in right if pattern in others)
            }
            blamed.update(known or (patterns - proven) or bound or (patterns - alone) or patterns)
    return proven - set(blamed), blamed


def main() -> None:
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    found = search()
    assert isinstance(found, WebGpuDriver)
    with TemporaryDirectory() as cache:  # empty, so that models that crashed a process earlier are tried again
        os.environ["NNAPI_CACHE_DIR"] = cache
        prove_patterns(found, name)


def prove_patterns(found: WebGpuDriver, part: str) -> None:
    """Run the examples with ``part`` in their names; without it, run everything and write the file."""
    trials = []
    for trial in try_examples(Unchecked(found.info.version, found.is_software), lambda name: part in name):
        trials.append(trial)
        if not trial.is_right:
            print(f"{trial.name}: {trial.reason}", flush=True)
    if not part:
        trials += try_models(Unchecked(found.info.version, found.is_software))
    proven, blamed = judge_patterns(trials)
    for pattern, count in sorted(blamed.items()):
        print(f"wrong, {count}: {pattern}")
    print(f"{len(trials)} examples were computed, {len(proven)} patterns are proven")
    if not part:
        head = f"# Made by python -m tools.webgpu_patterns on {found.info.version}."
        FILE.write_text("\n".join([head, *sorted(proven)]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    from tools.webgpu_patterns import main as main_by_name  # so that the device's process can import the classes above

    main_by_name()
