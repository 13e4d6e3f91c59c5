"""Plans as values: the steps of a model, their devices, and the reasons. Nothing here runs a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from copy import copy
from functools import cache
from typing import Any, NamedTuple, Self

from nnapi.contract.driver import Verdict
from nnapi.model.model import Model
from nnapi.notebook_display import NotebookDisplay

UNKNOWN = 0.0
"""Predicted seconds that are unknown."""
MOST_SAVED = 4.0
"""Maximum factor by which a variant is predicted to be faster: F(4,3) in both dimensions has a fourth of the
multiplications."""


class Decision(NamedTuple):
    """The device chosen for an operation, with each device's verdict and predicted seconds."""

    number: int
    operation: str
    chosen: str
    verdicts: tuple[tuple[str, Verdict], ...]
    costs: tuple[tuple[str, float], ...]


class Run(NamedTuple):
    """One device runs a partition. ``operations``, ``inputs`` and ``outputs`` are indices in the whole model."""

    device: str
    model: Model
    operations: tuple[int, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


def run_everything_on(model: Model, device: str) -> Run:
    return Run(device, model, tuple(range(len(model.operations))), model.inputs, model.outputs)


class If(NamedTuple):
    """The runtime reads the operand ``condition`` and runs one of two plans."""

    operation: int
    condition: int
    then: Plan
    otherwise: Plan
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


class While(NamedTuple):
    """The runtime runs ``body`` as long as ``condition`` yields true."""

    operation: int
    condition: Plan
    body: Plan
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


Step = Run | If | While


class Alternative(NamedTuple):
    """Another plan, with its predicted seconds or UNKNOWN, and its measured seconds if a trial ran it."""

    description: str
    seconds: float
    measured: float | None = None


class Explanation(NamedTuple):
    """The decision for each operation, the predicted seconds of the plan or UNKNOWN, and alternatives."""

    decisions: Sequence[Decision]
    predicted: float
    alternatives: tuple[Alternative, ...] = ()


class Plan(NotebookDisplay):
    """The steps of a model in order; immutable. Decisions and alternatives are computed on demand."""

    measured: float | None = None
    """Seconds per run, as a trial measured them; None without a trial."""
    threads: int | None = None
    """The number of threads that the times are for; None if drivers choose it."""
    variant = ""
    """The variant of the model on the plan's devices; empty for the default. Only simple plans have one by choice."""
    _saved: float = 0.0
    """Predicted seconds that the variant saves on one thread."""
    _predicted: float | None = None
    _compared: tuple[Alternative, ...] | None = None

    def __init__(
        self, model: Model, steps: tuple[Step, ...], explain: Callable[[], Explanation], notes: tuple[str, ...] = ()
    ) -> None:
        self.model, self.steps, self.notes = model, steps, notes
        self._explain = cache(explain)

    @property
    def decisions(self) -> Sequence[Decision]:
        return self._explain().decisions

    @property
    def predicted(self) -> float:
        """Predicted seconds of a run, or UNKNOWN."""
        if self._predicted is not None:
            return self._predicted
        direct = self._explain().predicted
        return max(direct - self._saved / (self.threads or 1), direct / MOST_SAVED)

    @property
    def alternatives(self) -> tuple[Alternative, ...]:
        """Other plans: those that a trial compared, else those that were considered."""
        return self._explain().alternatives if self._compared is None else self._compared

    @property
    def name(self) -> str:
        """The number of operations on each device, as text."""
        placed = self.count_operations()
        if len(placed) > 1:
            return " and ".join(f"{count} on {device}" for device, count in placed.most_common())
        if len(self.devices) > 1:
            return " and ".join(sorted(self.devices))
        return f"everything on {self.devices[0]}{self.variant and f', {self.variant}'}"

    def count_operations(self) -> Counter[str]:
        """Count operations by device; a simple plan is counted without decisions, which may ask devices."""
        if self.is_simple:
            return Counter({self.only_run.device: len(self.only_run.operations)})
        return Counter(decision.chosen for decision in self.decisions)

    @property
    def identity(self) -> str:
        """The key of the plan among candidates: its name, with the operations that are not on the main device."""
        if self.is_simple:
            return self.name
        placed: dict[str, list[int]] = {}
        for decision in self.decisions:
            placed.setdefault(decision.chosen, []).append(decision.number)
        main, *others = sorted(placed.items(), key=lambda each: -len(each[1]))
        rest = [f"{len(numbers)} on {device} ({_describe_ranges(numbers)})" for device, numbers in others]
        return " and ".join([f"{len(main[1])} on {main[0]}", *rest]) if rest else self.name

    @property
    def devices(self) -> tuple[str, ...]:
        """Names of the devices, without duplicates, in the order of the steps."""
        return tuple(dict.fromkeys(name for step in self.steps for name in _list_devices(step)))

    def devices_of(self, operand: int) -> set[str]:
        """Return the names of the devices whose steps read or write an operand."""
        return {name for step in self.steps for name in _find_touching(step, operand)}

    @property
    def is_simple(self) -> bool:
        """Whether one device runs the whole model as one partition."""
        return len(self.steps) == 1 and isinstance(self.steps[0], Run) and self.steps[0].model is self.model

    @property
    def only_run(self) -> Run:
        (run,) = self.steps
        assert isinstance(run, Run)
        return run

    def on_threads(self, threads: int | None) -> Self:
        return self._change(threads=threads)

    def with_notes(self, notes: tuple[str, ...]) -> Self:
        return self._change(notes=notes)

    def with_variant(self, variant: str, saved: float = 0.0) -> Self:
        """Return the plan with a variant that saves ``saved`` seconds on one thread."""
        return self._change(variant=variant, _saved=saved)

    def with_times(self, predicted: float, measured: float, compared: tuple[Alternative, ...]) -> Self:
        """Return the plan with a trial's times: ``predicted``, ``measured``, and the plans ``compared`` with it."""
        return self._change(_predicted=predicted, measured=measured, _compared=compared)

    def _change(self, **changes: Any) -> Self:
        changed = copy(self)
        vars(changed).update(changes)
        return changed


def _describe_ranges(numbers: Sequence[int]) -> str:
    """Describe operations by their numbers: ``#3, #5–7``."""
    starts = [each for each in numbers if each - 1 not in numbers]
    ends = [each for each in numbers if each + 1 not in numbers]
    return ", ".join(f"#{a}" if a == b else f"#{a}–{b}" for a, b in zip(starts, ends, strict=True))


def _find_touching(step: Step, operand: int) -> set[str]:
    """Return the devices of a step that read or write an operand, also in branches and loops."""
    if isinstance(step, Run):
        return {step.device} if operand in step.inputs or operand in step.outputs else set()
    entered = [step.then, step.otherwise] if isinstance(step, If) else [step.condition, step.body]
    left = entered if isinstance(step, If) else [step.body]
    sides = [(plan, step.inputs, plan.model.inputs) for plan in entered]
    sides += [(plan, step.outputs, plan.model.outputs) for plan in left]
    return {
        name
        for plan, outer, inner in sides
        for outside, inside in zip(outer, inner, strict=False)
        if outside == operand
        for name in plan.devices_of(inside)
    }


def _list_devices(step: Step) -> tuple[str, ...]:
    if isinstance(step, Run):
        return (step.device,)
    plans = (step.then, step.otherwise) if isinstance(step, If) else (step.condition, step.body)
    return tuple(name for plan in plans for name in plan.devices)
