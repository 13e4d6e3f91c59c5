"""Preparation of the partitions of a plan: each by its device's driver, or from the compilation cache."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from nnapi.drivers.base import DriverDiedError, Exact, Prepared, PrepareOptions
from nnapi.errors import MissedDeadlineError, NnapiError, wrap_error
from nnapi.model.content_hash import hash_content
from nnapi.model.model import Model
from nnapi.model.nesting import list_nested
from nnapi.runtime.cache.compilation_cache import Cache, OperationIndices
from nnapi.runtime.device import Device
from nnapi.runtime.executors.deadline import run_in_time
from nnapi.runtime.executors.wrappers import OnDevice
from nnapi.runtime.planning.plan import Plan, Run
from nnapi.runtime.verdicts.exclusions import exclusions_of, note_death
from nnapi.trace import Phase, Section, span

Guard = Callable[[Run, Prepared], Prepared]
"""Wraps the prepared model of a partition, for failures of its device."""


class PreparedPartition(NamedTuple):
    """The prepared model of a partition; ``operations`` identify it in the cache."""

    device: Device
    model: Model
    operations: OperationIndices
    prepared: Prepared
    is_restored: bool


class ReadyPlan(NamedTuple):
    """A prepared plan, and its partitions."""

    plan: Plan
    prepared: Prepared
    partitions: Sequence[PreparedPartition] = ()

    def find_precision_refusals(self) -> dict[str, str]:
        """Return why engines refused to compute in less than float32, by the name of the device."""
        return {
            device.name: prepared.precision_refusal
            for device, _, _, prepared, _ in self.partitions
            if isinstance(prepared, Exact) and prepared.precision_refusal
        }


class ClaimedError(Exception):
    """A device failed to prepare operations that it had claimed."""

    def __init__(self, device: str, model: Model, culprits: Sequence[int], error: NnapiError) -> None:
        self.device, self.model, self.culprits, self.kind = device, model, culprits, type(error)
        super().__init__(f"{device} claimed {name_operations(culprits)}, but failed to prepare: {error}")


def prepare_plan(
    plan: Plan, devices: Sequence[Device], options: PrepareOptions, cache: Cache | None, guard: Guard | None = None
) -> ReadyPlan:
    """Prepare every partition of a plan. ClaimedError for a device that cannot prepare what it claimed."""
    by_name = {device.name: device for device in devices}
    partitions: list[PreparedPartition] = []

    def prepare_run(source: Plan, run: Run) -> Prepared:
        device = by_name[run.device]
        partition = _prepare_partition(
            device, source.model, run, options, cache, _find_operations(plan.model, source.model, run)
        )
        partitions.append(partition)
        queued = queue_on_device(device, run, partition.prepared, options)
        return guard(run, queued) if guard else queued

    if plan.is_simple:
        options = options._replace(variant=plan.variant)
        return ReadyPlan(plan, prepare_run(plan, plan.only_run), partitions)
    from nnapi.runtime.executors.steps import PreparedPlan  # on demand: mostly, one device has the whole model

    return ReadyPlan(plan, PreparedPlan(plan, prepare_run), partitions)


def queue_on_device(device: Device, run: Run, prepared: Prepared, options: PrepareOptions) -> OnDevice:
    """Queue a prepared model on its device; a trace names the operations' numbers in the whole."""
    section = Section(device.layer, Phase.EXECUTION, device.name, model=run.model.name, operations=list(run.operations))
    return OnDevice(device, prepared, options.priority, section, partial(note_death, device.driver, run.model))


def name_operations(operations: Sequence[int]) -> str:
    """Format the numbers of operations."""
    shown = ", ".join(f"#{number}" for number in operations[:4])
    return f"operation {shown}" if len(operations) == 1 else f"operations {shown}{'…' if operations[4:] else ''}"


def _prepare_partition(
    device: Device, source: Model, run: Run, options: PrepareOptions, cache: Cache | None, operations: OperationIndices
) -> PreparedPartition:
    restored = None
    try:
        if cache is not None and device.caches is not None:
            restored = cache.restore(device, run.model, options, operations)
            if restored is None:
                hash_content(run.model)  # hash what is prepared now: files of constants may change later
        prepared = prepare_by_driver(device, run.model, options) if restored is None else restored
        return PreparedPartition(device, run.model, operations, prepared, is_restored=restored is not None)
    except MissedDeadlineError:
        raise
    except NnapiError as error:
        raise ClaimedError(device.name, source, _find_culprits(device, run, options, error), error) from error


def _find_operations(whole: Model, source: Model, run: Run) -> OperationIndices:
    """Return, for each operation, the index of its model (the whole is 0, referenced models follow) and its own; none
    for a simple plan."""
    if run.model is whole:
        return ()
    index = list_nested(whole)[::-1].index(source)
    return [(index, number) for number in run.operations]


def _find_culprits(device: Device, run: Run, options: PrepareOptions, error: NnapiError) -> Sequence[int]:
    """Return the operations that the device cannot prepare alone; all where none fails alone. One that ends the
    driver's process again is excluded."""
    from nnapi.runtime.verdicts.submodel import make_submodel  # on demand: after failures only

    failing = []
    is_deadly = isinstance(error, DriverDiedError) and error.by_itself
    for call in run.model.operations:
        try:
            single, _, _ = make_submodel(run.model, [call])
            prepare_by_driver(device, single, options).close()
        except NnapiError as alone:
            failing.append(run.operations[call.number])
            if is_deadly and isinstance(alone, DriverDiedError) and alone.by_itself:
                exclusions_of(device.driver).add(device.driver, run.model, call, "it was prepared", alone)
    return failing or run.operations


def prepare_by_driver(device: Device, model: Model, options: PrepareOptions) -> Prepared:
    """Prepare a model by the device's driver; raises an NnapiError only."""
    try:
        with span(device.layer, Phase.COMPILATION, "prepareModel", device=device.name, model=model.name):
            return run_in_time(partial(device.driver.prepare, model, options), options.deadline, device.name)
    except NnapiError:
        raise
    except Exception as error:
        raise wrap_error(error, device.name) from error
