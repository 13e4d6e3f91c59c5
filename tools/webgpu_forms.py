"""``python -m tools.webgpu_forms [NAME]``: which forms of operators the WebGPU accelerator computes right, written to
``drivers/webgpu/proven_forms.txt``.

Each conformance example whose operations have lowering rules is run on the accelerator, whatever form they have. A form
is proven by an example that is right. Of an example that is wrong those forms are to blame that smaller ones blame,
else those that no other proves, else those that no example of one operator proves. Run it with the adapter that all can
have, Mesa's lavapipe, and NNAPI_WEBGPU_SOFTWARE=1: it takes a quarter of an hour. With a NAME only examples with that
in theirs are run, and only what is wrong is shown.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import nnapi
from nnapi.drivers.base import Driver, DriverDiedError
from nnapi.drivers.isolated import Isolated
from nnapi.drivers.webgpu import search
from nnapi.drivers.webgpu.driver import WebGpuDriver
from nnapi.drivers.webgpu.forms import describe_form
from nnapi.drivers.webgpu.lowering import WebGpuLowering, sign_filter
from nnapi.drivers.xnnpack.lowering import Lowered, lower_model
from nnapi.errors import NnapiError
from nnapi.model.model import Model
from nnapi.model.operand import Shape
from nnapi.testing.build import build
from nnapi.testing.conformance import Result, Status, check
from nnapi.testing.corpus import open_published
from nnapi.testing.example import Example
from nnapi.testing.variants import VARIANTS, Setting
from tools import size

BROKEN = "refuses what it made itself"
FILE = size.REPOSITORY / "src" / "nnapi" / "drivers" / "webgpu" / "proven_forms.txt"
PATIENCE = 60.0
"""Seconds after which the accelerator counts as hanging."""


class UncheckedLowering(WebGpuLowering):
    """When nothing is known of the accelerator yet."""

    def is_proven(self, form: str) -> bool:
        return True


class Unchecked(WebGpuDriver):
    """The device when nothing is known of the accelerator yet: all that has a rule is tried."""

    patience = PATIENCE

    def lower(self, model: Model, shapes: Sequence[Shape | None] | None = None) -> Lowered:
        return lower_model(model, shapes, UncheckedLowering)


class Trial(NamedTuple):
    """An example that was run: the forms of its operators, and what came of it."""

    name: str
    forms: frozenset[str]
    is_right: bool
    reason: str


def try_examples(driver: Driver, is_wanted: Callable[[str], bool]) -> Iterator[Trial]:
    """Every example whose operations all have rules, run on the accelerator."""
    device = nnapi.Device(Isolated(driver, known=driver, patience=PATIENCE))
    setting = Setting((device,))
    for example in open_published().examples(lambda entry: not entry.expect_failure and is_wanted(entry.name)):
        forms = find_forms(example)
        if forms:
            result = check(example, VARIANTS["plain"], setting)
            if not is_refused(result):
                yield Trial(example.name, forms, result.status == Status.PASSED, result.reason)
    device.close()


def find_forms(example: Example) -> frozenset[str]:
    """The forms of the operators of an example; none where one of its operations has no rule, or is refused by it."""
    if not VARIANTS["plain"].applies(example.harness):
        return frozenset()
    try:
        found = lower_model(build(example), None, UncheckedLowering)
    except NnapiError:
        return frozenset()
    if not all(verdict.supported for verdict in found.verdicts):
        return frozenset()
    return frozenset(describe_form(sign_filter(operator)) for operator in found.graph.operators)


def is_refused(result: Result) -> bool:
    """Whether an example was not computed at all, which says nothing of its forms but that one of them is refused."""
    reason = result.reason
    is_broken = DriverDiedError.__name__ in reason or BROKEN in reason
    return result.status == Status.SKIPPED or ("failed to prepare" in reason and not is_broken)


def judge_forms(trials: Iterable[Trial]) -> tuple[set[str], Counter[str]]:
    """The forms that are proven, and those that are to blame for what is wrong, with how often."""
    trials = list(trials)
    proven = set().union(*(trial.forms for trial in trials if trial.is_right))
    alone = set().union(*(trial.forms for trial in trials if trial.is_right and len(trial.forms) == 1))
    blamed: Counter[str] = Counter()
    for trial in sorted(trials, key=lambda trial: len(trial.forms)):
        if not trial.is_right:
            known = trial.forms & set(blamed)
            blamed.update(known or (trial.forms - proven) or (trial.forms - alone) or trial.forms)
    return proven - set(blamed), blamed


def main() -> None:
    part = sys.argv[1] if len(sys.argv) > 1 else ""
    found = search()
    assert isinstance(found, WebGpuDriver)
    trials = []
    for trial in try_examples(Unchecked(found.info.version, found.is_software), lambda name: part in name):
        trials.append(trial)
        if not trial.is_right:
            print(f"{trial.name}: {trial.reason}", flush=True)
    proven, blamed = judge_forms(trials)
    for form, count in sorted(blamed.items()):
        print(f"wrong, {count}: {form}")
    print(f"{len(trials)} examples were computed, {len(proven)} forms are proven")
    if not part:
        head = f"# Made by python -m tools.webgpu_forms on {found.info.version}."
        FILE.write_text("\n".join([head, *sorted(proven)]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    from tools.webgpu_forms import main as main_by_name  # so that the device's process finds the class above

    main_by_name()
