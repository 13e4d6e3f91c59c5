"""From a model to something that runs: plan, have the drivers prepare, and provide for their failures."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import partial

from nnapi.codes import DeviceTypeCode
from nnapi.drivers.base import Prepared, PrepareOptions
from nnapi.errors import BadDataError, MissedDeadlineError, NnapiError, OpFailedError, UnexpectedNullError, need
from nnapi.model.model import Model
from nnapi.runtime.cache import Cache
from nnapi.runtime.device import Device
from nnapi.runtime.plan import Plan, Run, submodel
from nnapi.runtime.planner import make_plan, whole
from nnapi.runtime.prepared import Fallback, OnDevice, PreparedPlan

log = logging.getLogger("nnapi.CompilationBuilder")


class Partitioning(IntEnum):
    """What ``debug.nn.partition`` says about automatic compilations."""

    NONE = 0
    WITH_FALLBACK = 1
    WITHOUT_FALLBACK = 2


def partitioning() -> Partitioning:
    """The setting of this process: :data:`settings`, else the environment's DEBUG_NN_PARTITION, else fallback.

    A number that is none of the three means no fallback, as in the reference runtime.
    """
    if settings.partitioning is not None:
        return settings.partitioning
    text = os.environ.get("DEBUG_NN_PARTITION", "1").strip()
    return Partitioning(int(text)) if text in ("0", "1", "2") else Partitioning.WITHOUT_FALLBACK


@dataclass
class Settings:
    """Settings of the process that stand above the environment's."""

    partitioning: Partitioning | None = None


settings = Settings()


@dataclass(frozen=True)
class Ready:
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
        log.warning("compilation failed, falling back to the CPU: %s", error)
        return _on_cpu(model, cpu, PrepareOptions())
    if set(ready.plan.devices) == {cpu.name}:
        return ready
    return Ready(ready.plan, Fallback(f"the plan of {model.name}", ready.prepared, partial(_repeat, cpu, model)))


def _guarded(cpu: Device, run: Run, prepared: Prepared) -> Prepared:
    if run.device == cpu.name:
        return prepared
    return Fallback(f"{run.device} on {_numbers(run.operations)}", prepared, partial(_repeat, cpu, run.model))


def _repeat(cpu: Device, model: Model) -> Prepared:
    return cpu.driver.prepare(model, PrepareOptions())


def _on_cpu(model: Model, cpu: Device | None, options: PrepareOptions) -> Ready:
    need(cpu is not None, "there is no CPU device to compile the whole model for", OpFailedError)
    assert cpu is not None
    return Ready(whole(model, cpu), OnDevice(cpu, contained(cpu, model, options), options.priority))


def _planned(
    model: Model, devices: Sequence[Device], options: PrepareOptions, cache: Cache | None, guard: Guard
) -> Ready:
    by_name = {device.name: device for device in devices}
    exclusions: dict[tuple[str, Model, int], str] = {}
    failure: type[NnapiError] = OpFailedError

    def prepare_run(plan: Plan, run: Run) -> Prepared:
        return guard(run, _prepare_run(by_name[run.device], plan.model, run, options, cache))

    while True:
        try:
            plan = make_plan(model, devices, options.preference, exclusions)
        except BadDataError:
            if not exclusions:
                raise
            raise failure("; ".join(dict.fromkeys(exclusions.values()))) from None
        try:
            return Ready(plan, _prepared_plan(plan, prepare_run))
        except _Claimed as claimed:
            log.warning("%s", claimed.reason)
            failure = claimed.kind
            exclusions |= {(claimed.device, claimed.model, number): claimed.reason for number in claimed.culprits}


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


def _prepare_run(device: Device, model: Model, run: Run, options: PrepareOptions, cache: Cache | None) -> Prepared:
    try:
        if cache is None:
            prepared = contained(device, run.model, options)
        else:
            prepared = cache.prepare(device, run.model, options, partial(contained, device, run.model, options))
        return OnDevice(device, prepared, options.priority)
    except MissedDeadlineError:
        raise
    except NnapiError as error:
        raise _Claimed(device.name, model, _culprits(device, run, options), error) from error


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
        return device.driver.prepare(model, options)
    except NnapiError:
        raise
    except Exception as error:
        raise OpFailedError(f"{device.name} failed: {type(error).__name__}: {error}") from error
