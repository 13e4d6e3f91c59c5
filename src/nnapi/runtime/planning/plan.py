"""Plans: who computes what, in which order, and why. Values; nothing here runs anything."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, overload

from nnapi.drivers.base import Verdict
from nnapi.model.model import Lifetime, Model, OperationCall
from nnapi.model.operand import OperandType
from nnapi.notebook_display import NotebookDisplay


class Decision(NamedTuple):
    """Why an operation is where it is: each device's verdict and predicted seconds, and the device chosen."""

    number: int
    operation: str
    chosen: str
    verdicts: tuple[tuple[str, Verdict], ...]
    costs: tuple[tuple[str, float], ...]


class Decisions(Sequence[Decision]):
    """Decisions that are worked out when somebody asks for one."""

    def __init__(self, work_out: Callable[[], Sequence[Decision]]) -> None:
        self._work_out = work_out

    @overload
    def __getitem__(self, position: int) -> Decision: ...
    @overload
    def __getitem__(self, position: slice) -> Sequence[Decision]: ...
    def __getitem__(self, position: int | slice) -> Decision | Sequence[Decision]:
        return self._all[position]

    def __len__(self) -> int:
        return len(self._all)

    @cached_property
    def _all(self) -> Sequence[Decision]:
        return self._work_out()


class Run(NamedTuple):
    """One device computes a part of the model, itself a model.

    ``operations[k]`` is the number in the whole of the part's operation ``k``; ``inputs`` and ``outputs`` are operands
    of the whole.
    """

    device: str
    model: Model
    operations: tuple[int, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


def run_everything_on(model: Model, device: str) -> Run:
    """The whole model on one device."""
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
    """A plan that was considered: what it would be, its predicted seconds, and the measured ones where it was tried."""

    description: str
    seconds: float
    measured: float | None = None


@dataclass(frozen=True, eq=False)
class Plan(NotebookDisplay):
    """The steps of a model in order, the decision for each operation, and what else was considered."""

    model: Model
    steps: tuple[Step, ...]
    decisions: Sequence[Decision]
    predicted: float
    alternatives: tuple[Alternative, ...] = ()
    notes: tuple[str, ...] = ()
    measured: float | None = None
    """Seconds that a run took when plans were compared; None where nothing was compared."""
    threads: int | None = None
    """Threads that the times are for; None where the drivers choose."""
    form: str = ""
    """The form that the device of a simple plan gives the model, in words; nothing for its usual one."""

    @property
    def name(self) -> str:
        """Where how much of the model is computed, for people."""
        placed = Counter(decision.chosen for decision in self.decisions)
        if len(placed) > 1:
            return " and ".join(f"{count} on {device}" for device, count in placed.most_common())
        if len(self.devices) > 1:
            return " and ".join(sorted(self.devices))
        return f"everything on {self.devices[0]}{self.form and f', {self.form}'}"

    @property
    def identity(self) -> str:
        """What tells the plan from other candidates: its name, and where each operation is if devices share them."""
        chosen = "\n".join(decision.chosen for decision in self.decisions)
        return f"{self.name} ({zlib.crc32(chosen.encode()):08x})"

    @property
    def devices(self) -> tuple[str, ...]:
        """Names of the devices that compute, each once, in the order of the steps."""
        names: dict[str, None] = {}
        for step in self.steps:
            for name in _list_devices(step):
                names[name] = None
        return tuple(names)

    def devices_of(self, operand: int) -> set[str]:
        """Names of the devices whose steps read or write an operand."""
        return {name for step in self.steps for name in _find_touching(step, operand)}

    @property
    def is_simple(self) -> bool:
        """Whether one device runs the whole model unsplit."""
        return len(self.steps) == 1 and isinstance(self.steps[0], Run) and self.steps[0].model is self.model

    @property
    def only_run(self) -> Run:
        """The one step of a simple plan."""
        (run,) = self.steps
        assert isinstance(run, Run)
        return run

    def on_threads(self, threads: int | None) -> Plan:
        """The same plan with its times for so many threads."""
        return replace(self, threads=threads)

    def with_notes(self, notes: tuple[str, ...]) -> Plan:
        """The same plan, of which that is to be said."""
        return replace(self, notes=notes)


Figures = tuple[Sequence[Decision], float, tuple[Alternative, ...]]
"""The decision for each operation, the predicted seconds of all, and what else was possible."""


class OnlyPlan(Plan):
    """The plan of one device where no other was asked: its ``figures`` are worked out when somebody wants them."""

    def __init__(
        self, model: Model, run: Run, figures: Callable[[], Figures], notes: tuple[str, ...], threads: int | None = None
    ) -> None:
        put = object.__setattr__
        put(self, "model", model)
        put(self, "steps", (run,))
        put(self, "notes", notes)
        put(self, "threads", threads)
        put(self, "form", "")
        put(self, "_work_out", figures)

    @cached_property
    def _figures(self) -> Figures:
        work_out: Callable[[], Figures] = vars(self)["_work_out"]
        return work_out()

    @property
    def decisions(self) -> Sequence[Decision]:
        return self._figures[0]

    @property
    def predicted(self) -> float:
        return self._figures[1]

    @property
    def alternatives(self) -> tuple[Alternative, ...]:
        return self._figures[2]

    def on_threads(self, threads: int | None) -> Plan:
        return OnlyPlan(self.model, self.only_run, lambda: self._figures, self.notes, threads)

    def with_notes(self, notes: tuple[str, ...]) -> Plan:
        return OnlyPlan(self.model, self.only_run, lambda: self._figures, notes, self.threads)


def _find_touching(step: Step, operand: int) -> set[str]:
    """Names of the devices of a step that read or write an operand, also under its name in a branch or a body."""
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


def group_by_owner(model: Model, assignment: dict[int, object]) -> list[tuple[object, list[OperationCall]]]:
    """Operations in an order that keeps those of one owner together as long as their inputs allow: of the owners that
    can go on, the one that gets furthest does.

    ``assignment`` maps an operation's number to its owner.
    """
    waiting = _Waiting(model, [assignment[call.number] for call in model.operations])
    groups: list[tuple[object, list[OperationCall]]] = []
    while waiting.ready:
        owner = max(sorted(waiting.ready, key=waiting.first), key=lambda owner: len(waiting.reach(owner)))
        groups.append((owner, [model.operations[place] for place in waiting.take(owner)]))
    return groups


class _Waiting:
    """Operations that did not have their turn yet, by their places in the order in which they can run."""

    def __init__(self, model: Model, owners: Sequence[object]) -> None:
        self._owners = owners
        writers = {index: place for place, call in enumerate(model.operations) for index in call.outputs}
        awaited = [{writers[index] for index in call.inputs if index in writers} for call in model.operations]
        self._missing = [len(places) for places in awaited]
        self._readers: list[list[int]] = [[] for _ in owners]
        for place, places in enumerate(awaited):
            for writer in places:
                self._readers[writer].append(place)
        self.ready: dict[object, set[int]] = {}
        """The places that each owner can begin with."""
        for place, count in enumerate(self._missing):
            if not count:
                self.ready.setdefault(owners[place], set()).add(place)
        self._reach: dict[object, list[int]] = {}

    def first(self, owner: object) -> int:
        return min(self.ready[owner])

    def reach(self, owner: object) -> list[int]:
        """Everything that an owner can run now without waiting for another; kept until more becomes possible."""
        if owner not in self._reach:
            missing: dict[int, int] = {}
            found = list(self.ready[owner])
            for place in found:
                for reader in self._readers[place]:
                    missing[reader] = missing.get(reader, self._missing[reader]) - 1
                    if not missing[reader] and self._owners[reader] == owner:
                        found.append(reader)
            self._reach[owner] = sorted(found)
        return self._reach[owner]

    def take(self, owner: object) -> list[int]:
        """Let the owner run all of that."""
        taken = self.reach(owner)
        del self.ready[owner]
        chosen = set(taken)
        for place in taken:
            for reader in self._readers[place]:
                self._missing[reader] -= 1
                self._reach.pop(self._owners[reader], None)
                if not self._missing[reader] and reader not in chosen:
                    self.ready.setdefault(self._owners[reader], set()).add(reader)
        self._reach.pop(owner, None)
        return taken


def count_reads(calls: Sequence[OperationCall]) -> Counter[int]:
    """How often each operand is read."""
    return Counter(index for call in calls for index in call.inputs)


def make_submodel(
    model: Model, calls: list[OperationCall], reads: Mapping[int, int] | None = None
) -> tuple[Model, tuple[int, ...], tuple[int, ...]]:
    """The calls as a model of their own, with the operands of the whole that are its inputs and outputs.

    Constants are shared, not copied. ``reads`` are those of all calls of the whole, where they were counted before.
    """
    written = {index for call in calls for index in call.outputs}
    reads = count_reads(model.operations) if reads is None else reads
    own, given = count_reads(calls), set(model.outputs)
    part = Model(f"{model.name}[{', '.join(str(call.number) for call in calls[:3])}{'…' if calls[3:] else ''}]")
    places: dict[int, int] = {}
    for call in calls:
        for index in (*call.inputs, *call.outputs):
            if index not in places:
                places[index] = _copy_operand(model, index, part)
    inputs = tuple(i for i in places if i not in written and _is_open(model, i))
    outputs = tuple(i for i in places if i in written and (reads[i] > own[i] or i in given))
    for call in calls:
        part.add_operation(call.code, [places[i] for i in call.inputs], [places[i] for i in call.outputs])
    part.assign_roles([places[i] for i in inputs], [places[i] for i in outputs])
    part.relax_computation_float32_to_float16(model.relaxed)
    part.freeze()
    return part, inputs, outputs


def _is_open(model: Model, index: int) -> bool:
    return model.operands[index].lifetime in (Lifetime.TEMPORARY, Lifetime.INPUT, Lifetime.OUTPUT)


def _copy_operand(model: Model, index: int, part: Model) -> int:
    operand = model.operands[index]
    type = operand.type
    place = part.add_operand(OperandType(type.code, type.dimensions, type.scale, type.zero_point), operand.name)
    if type.data:
        part.set_operand_extension_data(place, type.data)
    if type.channel:
        part.set_operand_symm_per_channel_quant_params(place, type.channel.dimension, type.channel.scales)
    if operand.lifetime == Lifetime.CONSTANT:
        part.set_operand_value(place, operand.value)
    elif operand.lifetime == Lifetime.NO_VALUE:
        part.set_operand_value(place, None)
    elif operand.lifetime == Lifetime.SUBGRAPH:
        part.set_operand_value_from_model(place, operand.value)
    return place
