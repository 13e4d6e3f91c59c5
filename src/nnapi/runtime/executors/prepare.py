"""From a model to something that runs: plan, have the drivers prepare, and provide for their failures."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from nnapi.codes import DeviceTypeCode, PreferenceCode
from nnapi.drivers.base import Prepared, PrepareOptions
from nnapi.errors import BadDataError, MissedDeadlineError, NnapiError, OpFailedError, UnexpectedNullError, need
from nnapi.model.model import Model
from nnapi.model.nesting import nested
from nnapi.runtime.autotune.autotune import fastest, is_worthwhile
from nnapi.runtime.costs.thread_choice import Pricing, priced
from nnapi.runtime.device import Device
from nnapi.runtime.executors.deadline import in_time
from nnapi.runtime.executors.executors import Fallback, OnDevice, PreparedPlan, escaped
from nnapi.runtime.planning.plan import Plan, Run, submodel
from nnapi.runtime.planning.planner import first_plan, make_plans, whole
from nnapi.runtime.settings import Partitioning, tunes
from nnapi.runtime.store import plan_cache
from nnapi.runtime.store.compilation_cache import Cache, Place, operation_places
from nnapi.trace import Phase, Section, span

log = logging.getLogger("nnapi.CompilationBuilder")


class Ready(NamedTuple):
    """A plan and what runs it."""

    plan: Plan
    prepared: Prepared


Guard = Callable[[Run, Prepared], Prepared]
"""What stands between a part and the failures of its device."""


def prepare(
    model: Model, devices: Sequence[Device], options: PrepareOptions, mode: Partitioning, cache: Cache | None = None
) -> Ready:
    """Plan the model over the devices and prepare every part.

    A device that claims an operation and then fails to prepare it is not asked for it again, and the model is
    planned anew. With WITH_FALLBACK, what still fails is compiled for the CPU, and so is what fails when it runs.
    """
    cpu = next((device for device in devices if device.type == DeviceTypeCode.DEVICE_CPU), None)
    if mode is Partitioning.NONE:
        return _on_cpu(model, cpu, options)
    if mode is not Partitioning.WITH_FALLBACK or cpu is None:
        return _planned(model, devices, options, cache, lambda run, prepared: prepared)
    try:
        ready = _planned(model, devices, options, cache, partial(_guarded, cpu))
    except (BadDataError, UnexpectedNullError):
        raise
    except NnapiError as error:
        if not _can_stand_in(cpu, model):
            raise
        log.warning("compilation failed, falling back to the CPU: %s", error)
        return _on_cpu(model, cpu, PrepareOptions())
    if set(ready.plan.devices) == {cpu.name}:
        return ready
    return Ready(ready.plan, Fallback(f"the plan of {model.name}", ready.prepared, partial(_repeat, cpu, model)))


def _guarded(cpu: Device, run: Run, prepared: Prepared) -> Prepared:
    if run.device == cpu.name:
        return prepared
    return Fallback(f"{run.device} on {_numbers(run.operations)}", prepared, partial(_repeat, cpu, run.model))


def _can_stand_in(cpu: Device, model: Model) -> bool:
    """Whether the CPU could run the whole model: it knows no operations of extensions and OEMs."""
    return all(all(cpu.supports(each)) for each in nested(model))


def _repeat(cpu: Device, model: Model) -> Prepared | None:
    """The model prepared for the CPU, if that has all its operations."""
    return cpu.driver.prepare(model, PrepareOptions()) if _can_stand_in(cpu, model) else None


def _on_cpu(model: Model, cpu: Device | None, options: PrepareOptions) -> Ready:
    need(cpu is not None, "there is no CPU device to compile the whole model for", OpFailedError)
    assert cpu is not None
    section = _section(cpu, model, range(len(model.operations)))
    return Ready(whole(model, cpu), OnDevice(cpu, contained(cpu, model, options), options.priority, section))


def _planned(
    model: Model, devices: Sequence[Device], options: PrepareOptions, cache: Cache | None, guard: Guard
) -> Ready:
    by_name = {device.name: device for device in devices}
    exclusions: dict[tuple[str, Model, int], str] = {}
    failure: type[NnapiError] = OpFailedError
    undecided = False
    compares = tunes() and options.preference != PreferenceCode.PREFER_LOW_POWER
    conditions = plan_cache.conditions(devices, options, compares)
    is_whole = not any(device.is_out for device in devices)  # else the plan is one for this process alone
    if cache is not None and (ready := _recalled(model, devices, options, cache, conditions, guard)):
        return ready
    pricing = priced(model, devices, options) if compares else Pricing()
    asks_one = pricing.is_tiny
    compares = compares and not pricing.is_tiny
    options = options._replace(threads=pricing.threads or options.threads)

    def prepare_run(plan: Plan, run: Run) -> Prepared:
        if cache is None:
            return guard(run, _prepare_run(by_name[run.device], plan.model, run, options, None))
        settled = plan_cache.text(plan, conditions) if run.model is model and is_whole and not undecided else b""
        place = Place(cache, operation_places(model, plan.model, run), settled)
        return guard(run, _prepare_run(by_name[run.device], plan.model, run, options, place))

    while True:
        try:
            first = first_plan(model, devices, options.preference, pricing.tables) if asks_one else None
            if first is not None:
                plans = [first]
            else:
                plans = make_plans(model, devices, options.preference, exclusions, pricing.tables, compared=compares)
        except BadDataError:
            if not exclusions:
                raise
            raise failure("; ".join(dict.fromkeys(exclusions.values()))) from None
        try:
            plans = [plan.on_threads(options.threads) for plan in plans]
            undecided = compares and is_worthwhile(model, plans)
            if undecided:
                made = partial(_prepared_plan, prepare_run=prepare_run)
                usable = [device for device in devices if not device.is_out]
                chosen = fastest(model, plans, usable, options, made, pricing.patience)
                if cache is not None and chosen.plan.is_simple and is_whole:
                    device = by_name[chosen.plan.devices[0]]
                    cache.keep_plan(device, model, options, plan_cache.text(chosen.plan, conditions))
                return Ready(chosen.plan, chosen.prepared)
            return Ready(plans[0], _prepared_plan(plans[0], prepare_run))
        except _Claimed as claimed:
            log.warning("%s", claimed.reason)
            failure, asks_one = claimed.kind, False
            exclusions |= {(claimed.device, claimed.model, number): claimed.reason for number in claimed.culprits}


def _recalled(
    model: Model, devices: Sequence[Device], options: PrepareOptions, cache: Cache, conditions: list[Any], guard: Guard
) -> Ready | None:
    """The plan that the cache keeps for the model, restored whole."""
    found = plan_cache.recalled(cache, model, devices, options, conditions)
    if found is None:
        return None
    plan, device, prepared = found
    (run,) = plan.steps
    assert isinstance(run, Run)
    section = _section(device, model, run.operations)
    return Ready(plan, guard(run, OnDevice(device, prepared, options.priority, section)))


def _prepared_plan(plan: Plan, prepare_run: Callable[[Plan, Run], Prepared]) -> Prepared:
    if plan.is_simple:
        step = plan.steps[0]
        assert isinstance(step, Run)
        return prepare_run(plan, step)
    return PreparedPlan(plan, prepare_run)


class _Claimed(Exception):
    """A device failed to prepare operations that it had said it would take."""

    def __init__(self, device: str, model: Model, culprits: Sequence[int], error: NnapiError) -> None:
        self.device, self.model, self.culprits, self.kind = device, model, culprits, type(error)
        self.reason = f"{device} claimed {_numbers(culprits)}, but failed to prepare: {error}"


def _numbers(operations: Sequence[int]) -> str:
    shown = ", ".join(f"#{number}" for number in operations[:4])
    return f"operation {shown}" if len(operations) == 1 else f"operations {shown}{'…' if operations[4:] else ''}"


def _prepare_run(device: Device, model: Model, run: Run, options: PrepareOptions, place: Place | None) -> Prepared:
    try:
        work = partial(contained, device, run.model, options)
        prepared = work() if place is None else place.prepare(device, run.model, options, work)
        return OnDevice(device, prepared, options.priority, _section(device, run.model, run.operations))
    except MissedDeadlineError:
        raise
    except NnapiError as error:
        raise _Claimed(device.name, model, _culprits(device, run, options), error) from error


def _section(device: Device, model: Model, operations: Sequence[int]) -> Section:
    """What a trace says of a run of the part; ``operations`` are its operations' numbers in the whole."""
    return Section(device.layer, Phase.EXECUTION, device.name, model=model.name, operations=list(operations))


def _culprits(device: Device, run: Run, options: PrepareOptions) -> Sequence[int]:
    """Which operations the device cannot prepare, each asked for alone; all of them where none fails alone."""
    failing = []
    for call in run.model.operations:
        try:
            part, _, _ = submodel(run.model, [call])
            contained(device, part, options).close()
        except NnapiError:
            failing.append(run.operations[call.number])
    return failing or run.operations


def contained(device: Device, model: Model, options: PrepareOptions) -> Prepared:
    """The model prepared by the device's driver; whatever that raises as an NnapiError."""
    try:
        with span(device.layer, Phase.COMPILATION, "prepareModel", device=device.name, model=model.name):
            return in_time(partial(device.driver.prepare, model, options), options.deadline, device.name)
    except NnapiError:
        raise
    except Exception as error:
        raise escaped(error, device.name) from error
