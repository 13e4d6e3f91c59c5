"""Plans: the steps of a model, their devices, and the reasons. Values; nothing here runs anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from copy import copy
from functools import cache
from typing import Any, NamedTuple, Self

from nnapi.drivers.base import Verdict
from nnapi.model.model import Model
from nnapi.notebook_display import NotebookDisplay


class Decision(NamedTuple):
    """The device of an operation, and each device's verdict and predicted seconds."""

    number: int
    operation: str
    chosen: str
    verdicts: tuple[tuple[str, Verdict], ...]
    costs: tuple[tuple[str, float], ...]


class Run(NamedTuple):
    """One device runs a partition. ``operations``, ``inputs`` and ``outputs`` are numbers in the whole model."""

    device: str
    model: Model
    operations: tuple[int, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


def run_everything_on(model: Model, device: str) -> Run:
    return Run(device, model, tuple(range(len(model.operations))), model.inputs, model.outputs)


class If(NamedTuple):
    """The runtime evaluates the condition (an operand) and runs one of two plans."""

    operation: int
    condition: int
    then: Plan
    otherwise: Plan
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


class While(NamedTuple):
    """The runtime runs ``body`` for as long as ``condition`` gives true."""

    operation: int
    condition: Plan
    body: Plan
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


Step = Run | If | While


class Alternative(NamedTuple):
    """A plan that was considered: its predicted seconds, and the measured ones where it was tried."""

    description: str
    seconds: float
    measured: float | None = None


class Explanation(NamedTuple):
    """The decision for each operation, the predicted seconds of all, and other plans."""

    decisions: Sequence[Decision]
    predicted: float
    alternatives: tuple[Alternative, ...] = ()


class Plan(NotebookDisplay):
    """The steps of a model in order; on demand the decisions and what else was considered. Immutable."""

    measured: float | None = None
    """Seconds that a run took when plans were compared; None where nothing was compared."""
    threads: int | None = None
    """Threads that the times are for; None where the drivers choose."""
    variant = ""
    """The variant of the model on the device of a simple plan; empty for the usual one."""
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
        """Seconds that a run should take."""
        return self._explain().predicted if self._predicted is None else self._predicted

    @property
    def alternatives(self) -> tuple[Alternative, ...]:
        """Other plans: those that were compared, else those that were considered."""
        return self._explain().alternatives if self._compared is None else self._compared

    @property
    def name(self) -> str:
        """The number of operations by device."""
        placed = self.count_operations()
        if len(placed) > 1:
            return " and ".join(f"{count} on {device}" for device, count in placed.most_common())
        if len(self.devices) > 1:
            return " and ".join(sorted(self.devices))
        return f"everything on {self.devices[0]}{self.variant and f', {self.variant}'}"

    def count_operations(self) -> Counter[str]:
        """Count the operations by device; those of a simple plan without decisions, which may ask devices."""
        if self.is_simple:
            return Counter({self.only_run.device: len(self.only_run.operations)})
        return Counter(decision.chosen for decision in self.decisions)

    @property
    def identity(self) -> str:
        """The key of the plan among candidates: its name, and if it is divided a digest of the assignment."""
        if self.is_simple:
            return self.name
        import zlib  # on demand: only comparisons need it

        chosen = "\n".join(decision.chosen for decision in self.decisions)
        return f"{self.name} ({zlib.crc32(chosen.encode()):08x})"

    @property
    def devices(self) -> tuple[str, ...]:
        """Names of the devices, each once, in the order of the steps."""
        return tuple(dict.fromkeys(name for step in self.steps for name in _list_devices(step)))

    def devices_of(self, operand: int) -> set[str]:
        """Names of the devices whose steps read or write an operand."""
        return {name for step in self.steps for name in _find_touching(step, operand)}

    @property
    def is_simple(self) -> bool:
        """Whether one device runs the whole model unsplit."""
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

    def with_variant(self, variant: str) -> Self:
        return self._change(variant=variant)

    def with_times(self, predicted: float, measured: float, compared: tuple[Alternative, ...]) -> Self:
        """Return the plan with measured times and the plans that it was compared with."""
        return self._change(_predicted=predicted, measured=measured, _compared=compared)

    def _change(self, **changes: Any) -> Self:
        changed = copy(self)
        vars(changed).update(changes)
        return changed


def _find_touching(step: Step, operand: int) -> set[str]:
    """Return the devices of a step that read or write an operand, in branches and bodies too."""
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
