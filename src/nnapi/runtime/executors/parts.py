"""Making the parts of a plan ready: each by its device's driver, or from what the compilation cache keeps of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from nnapi.drivers.base import DriverDiedError, Prepared, PrepareOptions
from nnapi.errors import MissedDeadlineError, NnapiError
from nnapi.model.content_hash import hash_content
from nnapi.model.model import Model
from nnapi.model.nesting import list_nested
from nnapi.runtime.cache.compilation_cache import Cache, Places
from nnapi.runtime.device import Device
from nnapi.runtime.executors.deadline import run_in_time
from nnapi.runtime.executors.executors import OnDevice, wrap_error
from nnapi.runtime.planning.plan import Plan, Run
from nnapi.runtime.verdicts.exclusions import exclusions_of, note_death
from nnapi.trace import Phase, Section, span

Guard = Callable[[Run, Prepared], Prepared]
"""Wraps the prepared model of a partition, for failures of its device."""


class Part(NamedTuple):
    """The prepared model of one device's share of a plan; ``places`` identify it in the cache."""

    device: Device
    model: Model
    places: Places
    prepared: Prepared
    is_restored: bool


class ReadyPlan(NamedTuple):
    """A plan, what runs it, and the parts that were made for it."""

    plan: Plan
    prepared: Prepared
    parts: Sequence[Part] = ()


class ClaimedError(Exception):
    """A device failed to prepare operations that it had said it would take."""

    def __init__(self, device: str, model: Model, culprits: Sequence[int], error: NnapiError) -> None:
        self.device, self.model, self.culprits, self.kind = device, model, culprits, type(error)
        super().__init__(f"{device} claimed {name_operations(culprits)}, but failed to prepare: {error}")


def prepare_plan(
    plan: Plan, devices: Sequence[Device], options: PrepareOptions, cache: Cache | None, guard: Guard | None = None
) -> ReadyPlan:
    """Make every part of a plan ready. ClaimedError for a device that cannot do what it said it would."""
    by_name = {device.name: device for device in devices}
    parts: list[Part] = []

    def prepare_run(source: Plan, run: Run) -> Prepared:
        device = by_name[run.device]
        part = _prepare_part(device, source.model, run, options, cache, _find_places(plan.model, source.model, run))
        parts.append(part)
        turned = run_on(device, run, part.prepared, options)
        return guard(run, turned) if guard else turned

    if plan.is_simple:
        options = options._replace(variant=plan.variant)
        return ReadyPlan(plan, prepare_run(plan, plan.only_run), parts)
    from nnapi.runtime.executors.steps import PreparedPlan  # mostly, one device has the whole model

    return ReadyPlan(plan, PreparedPlan(plan, prepare_run), parts)


def run_on(device: Device, run: Run, prepared: Prepared, options: PrepareOptions) -> OnDevice:
    """Return a prepared model to be run when it is its turn; a trace names the operations' numbers in the whole."""
    section = Section(device.layer, Phase.EXECUTION, device.name, model=run.model.name, operations=list(run.operations))
    return OnDevice(device, prepared, options.priority, section, partial(note_death, device.driver, run.model))


def name_operations(operations: Sequence[int]) -> str:
    """The numbers of operations, for people."""
    shown = ", ".join(f"#{number}" for number in operations[:4])
    return f"operation {shown}" if len(operations) == 1 else f"operations {shown}{'…' if operations[4:] else ''}"


def _prepare_part(
    device: Device, source: Model, run: Run, options: PrepareOptions, cache: Cache | None, places: Places
) -> Part:
    try:
        if cache is not None and device.caches is not None:
            restored = cache.restore(device, run.model, options, places)
            if restored is not None:
                return Part(device, run.model, places, restored, is_restored=True)
            hash_content(run.model)  # of what is prepared now, whatever becomes of the files behind it
        return Part(device, run.model, places, prepare_by_driver(device, run.model, options), is_restored=False)
    except MissedDeadlineError:
        raise
    except NnapiError as error:
        raise ClaimedError(device.name, source, _find_culprits(device, run, options, error), error) from error


def _find_places(whole: Model, source: Model, run: Run) -> Places:
    """For each operation of a part the index of its model and its own; none for a simple plan.

    Models are counted from the whole on, each followed by those that it refers to.
    """
    if run.model is whole:
        return ()
    index = list_nested(whole)[::-1].index(source)
    return [(index, number) for number in run.operations]


def _find_culprits(device: Device, run: Run, options: PrepareOptions, error: NnapiError) -> Sequence[int]:
    """Which operations the device cannot prepare, each asked for alone; all of them where none fails alone.

    One that ends the driver's process alone, as it did with the others, is not asked for again by anybody.
    """
    from nnapi.runtime.verdicts.submodel import make_submodel  # which only failures need

    failing = []
    is_deadly = isinstance(error, DriverDiedError) and error.by_itself
    for call in run.model.operations:
        try:
            part, _, _ = make_submodel(run.model, [call])
            prepare_by_driver(device, part, options).close()
        except NnapiError as alone:
            failing.append(run.operations[call.number])
            if is_deadly and isinstance(alone, DriverDiedError) and alone.by_itself:
                exclusions_of(device.driver).add(device.driver, run.model, call, "it was prepared", alone)
    return failing or run.operations


def prepare_by_driver(device: Device, model: Model, options: PrepareOptions) -> Prepared:
    """The model prepared by the device's driver; whatever that raises as an NnapiError."""
    try:
        with span(device.layer, Phase.COMPILATION, "prepareModel", device=device.name, model=model.name):
            return run_in_time(partial(device.driver.prepare, model, options), options.deadline, device.name)
    except NnapiError:
        raise
    except Exception as error:
        raise wrap_error(error, device.name) from error
