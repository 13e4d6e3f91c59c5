"""From a model to something that runs: what is kept is recalled, else devices are chosen; prepare, store."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from nnapi.codes import DeviceTypeCode, PreferenceCode
from nnapi.drivers.base import Prepared, PrepareOptions
from nnapi.errors import BadDataError, NnapiError, UnexpectedNullError, need_value
from nnapi.model.model import Model
from nnapi.model.nesting import list_nested
from nnapi.runtime.autotune.measurements import (
    PREDICTED,
    UNKNOWN,
    Measurements,
    make_key,
    recall_known,
    recall_measurements,
)
from nnapi.runtime.cache.compilation_cache import Cache
from nnapi.runtime.cache.plan_cache import KeptPlans, explain_run
from nnapi.runtime.device import REFERENCE, Device
from nnapi.runtime.executors.executors import Fallback
from nnapi.runtime.executors.parts import (
    ClaimedError,
    Guard,
    ReadyPlan,
    name_operations,
    prepare_by_driver,
    prepare_plan,
    run_on,
)
from nnapi.runtime.planning.plan import Decisions, OnlyPlan, Plan, Run
from nnapi.runtime.settings import Partitioning, tunes, tunes_first
from nnapi.trace.log import Log

log = Log("nnapi.CompilationBuilder")


def prepare(
    model: Model,
    devices: Sequence[Device],
    options: PrepareOptions,
    mode: Partitioning,
    cache: Cache | None = None,
    guard: Guard = lambda run, prepared: prepared,
) -> ReadyPlan:
    """Plan the model over the devices and prepare every part, each of which the guard is shown.

    With WITH_FALLBACK, what fails is compiled for the CPU, and so is what fails when it runs.
    """
    cpu = _find_cpu(devices)
    if mode is Partitioning.NONE:
        return _prepare_on_cpu(model, cpu, options)
    if mode is not Partitioning.WITH_FALLBACK or cpu is None:
        return _prepare_on_devices(model, devices, options, cache, guard)
    try:
        guarded = make_guard(devices, mode)
        ready = _prepare_on_devices(model, devices, options, cache, lambda run, made: guarded(run, guard(run, made)))
    except (BadDataError, UnexpectedNullError):
        raise
    except NnapiError as error:
        if not _can_stand_in(cpu, model):
            raise
        log.warning("compilation failed, falling back to the CPU: %s", error)
        return _prepare_on_cpu(model, cpu, PrepareOptions())
    if set(ready.plan.devices) == {cpu.name}:
        return ready
    fallback = Fallback(f"the plan of {model.name}", ready.prepared, partial(_prepare_again, cpu, model))
    return ready._replace(prepared=fallback)


def _prepare_on_devices(
    model: Model, devices: Sequence[Device], options: PrepareOptions, cache: Cache | None, guard: Guard
) -> ReadyPlan:
    """The walk of every compilation: recall what the cache has, else what was chosen before, else choose; then store.

    A device that claims an operation and then fails to prepare it is not asked for it again: the model is planned anew.
    Nothing is recalled or stored where a device stands for another: what its file says may have changed.
    """
    measured = all(device.is_measured for device in devices)
    compares = measured and tunes() and options.preference != PreferenceCode.PREFER_LOW_POWER
    kept = None if cache is None or not measured else KeptPlans(cache, model, devices, options, compares)

    if kept is not None and (found := kept.recall()):
        plan, device, prepared = found
        return ReadyPlan(plan, guard(plan.only_run, run_on(device, plan.only_run, prepared, options)))

    usable = [device for device in devices if not device.is_out]
    key = make_key(model, usable, options) if compares and len(usable) > 1 else None
    known = recall_known(key) if key else UNKNOWN
    ready = _prepare_choice(model, devices, options, cache, guard, known)
    waits = tunes_first() or known.is_compared
    if ready is None:
        from nnapi.runtime.choice import choose_and_prepare  # which takes much that known models do without

        ready = choose_and_prepare(model, devices, options, cache, guard, key, compares, waits or key is None)

    is_settled = key is None or _is_settled(model, devices, options, key, known)
    if kept is not None and (is_settled or not (waits and kept.is_own)):
        with_plan = is_settled or waits
        kept.store(ready, options._replace(threads=ready.plan.threads, form=ready.plan.form), with_plan)
    return ready


def _is_settled(
    model: Model, devices: Sequence[Device], options: PrepareOptions, key: str, known: Measurements
) -> bool:
    """Whether the choice is not to be made again; if it is, that is begun in the background, unless compilations wait
    for it."""
    if tunes_first():
        return recall_measurements(key).is_settled
    if known.is_compared and known.is_settled:
        return True
    if known is UNKNOWN:
        from nnapi.runtime.costs.thread_choice import is_tiny  # nothing is kept of those for which it cannot pay

        if is_tiny(model):
            return True
    from nnapi.runtime.later import choose_later

    choose_later(model, devices, options, key)
    return False


def _prepare_choice(
    model: Model,
    devices: Sequence[Device],
    options: PrepareOptions,
    cache: Cache | None,
    guard: Guard,
    known: Measurements,
) -> ReadyPlan | None:
    """What an earlier compilation chose, made ready; None where nothing is known, or cannot be made ready any more."""
    plan = _recall_choice(model, devices, options, known)
    if plan is None:
        return None
    try:
        return prepare_plan(plan, devices, options._replace(threads=plan.threads), cache, guard)
    except ClaimedError as claim:
        log.warning("%s: the model is planned anew", claim)
        return None


def _recall_choice(
    model: Model, devices: Sequence[Device], options: PrepareOptions, known: Measurements
) -> Plan | None:
    """The plan that earlier compilations chose, if it gives one device the whole model and need not be chosen anew
    first: no other device is asked, or even loaded, and nothing is measured."""
    names = [device.name for device in devices]
    if known.choice is None or known.choice.device not in names or (tunes_first() and not known.is_settled):
        return None
    device, predicted, measured, alternatives, form, count = known.choice

    run, threads = Run(device, model, tuple(range(count)), model.inputs, model.outputs), known.threads
    explain = partial(explain_run, run, devices, options.preference, threads)
    if known.is_predicted:
        notes = () if known.is_compared else (PREDICTED,)
        return OnlyPlan(model, run, explain, notes).on_threads(threads).with_form(form)
    decisions = Decisions(lambda: explain()[0])
    return Plan(model, (run,), decisions, predicted, alternatives, (), measured, threads, form)


def make_guard(devices: Sequence[Device], mode: Partitioning) -> Guard:
    """What repeats a part on the CPU when it fails, where that is permitted."""
    cpu = _find_cpu(devices)
    return (
        (lambda run, prepared: prepared)
        if cpu is None or mode is not Partitioning.WITH_FALLBACK
        else partial(_guard, cpu)
    )


def _find_cpu(devices: Sequence[Device]) -> Device | None:
    """The reference, or else the first that says it is a CPU, as devices of other libraries do too."""
    found = [device for device in devices if device.type == DeviceTypeCode.DEVICE_CPU]
    return next((device for device in found if device.name == REFERENCE), found[0] if found else None)


def _guard(cpu: Device, run: Run, prepared: Prepared) -> Prepared:
    if run.device == cpu.name:
        return prepared
    what = f"{run.device} on {name_operations(run.operations)}"
    return Fallback(what, prepared, partial(_prepare_again, cpu, run.model))


def _can_stand_in(cpu: Device, model: Model) -> bool:
    """Whether the CPU could run the whole model: it knows no operations of extensions and OEMs."""
    return all(all(cpu.supports(each)) for each in list_nested(model))


def _prepare_again(cpu: Device, model: Model) -> Prepared | None:
    """The model prepared for the CPU, if that has all its operations."""
    return cpu.driver.prepare(model, PrepareOptions()) if _can_stand_in(cpu, model) else None


def _prepare_on_cpu(model: Model, cpu: Device | None, options: PrepareOptions) -> ReadyPlan:
    from nnapi.runtime.planning.planner import plan_whole

    cpu = need_value(cpu, "there is no CPU device to compile the whole model for")
    plan = plan_whole(model, cpu)
    return ReadyPlan(plan, run_on(cpu, plan.only_run, prepare_by_driver(cpu, model, options), options))
