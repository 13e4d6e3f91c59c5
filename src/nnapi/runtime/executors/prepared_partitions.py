"""Preparation of a plan's partitions: each by its device's driver, or from the compilation cache."""

from collections.abc import Callable, Sequence, Set
from functools import partial
from typing import NamedTuple

from nnapi.contract.driver import DriverDiedError, Exact, Prepared, PrepareOptions
from nnapi.contract.handles import Openable
from nnapi.errors import MissedDeadlineError, NnapiError, wrap_error
from nnapi.exits import note_preparation
from nnapi.model.content_hash import hash_content
from nnapi.model.model import Model
from nnapi.model.nesting import list_nested
from nnapi.runtime.cache.compilation_cache import Cache, OperationIndices
from nnapi.runtime.device import Device
from nnapi.runtime.executors.deadline import run_in_time
from nnapi.runtime.executors.output_check import OutputCheck
from nnapi.runtime.executors.wrappers import OnDevice
from nnapi.runtime.planning.plan import Plan, Run
from nnapi.runtime.verdicts.exclusions import exclusions_of, note_death
from nnapi.trace import Phase, Section, span

Guard = Callable[[str, Model, Set[str], Openable], Openable]
"""Wraps a prepared model, which messages name and some devices run, so that their failure can be handled."""


class PreparedPartition(NamedTuple):
    """A partition's prepared model; ``operations`` identify it in the cache."""

    device: Device
    model: Model
    operations: OperationIndices
    prepared: Prepared
    is_restored: bool


class ReadyPlan(NamedTuple):
    """A prepared plan with its partitions."""

    plan: Plan
    prepared: Openable
    partitions: Sequence[PreparedPartition] = ()

    def find_precision_refusals(self) -> dict[str, str]:
        """Return, by device, why an engine refused to compute in less than float32."""
        return {
            device.name: prepared.precision_refusal
            for device, _, _, prepared, _ in self.partitions
            if isinstance(prepared, Exact) and prepared.precision_refusal
        }


class ClaimedError(Exception):
    """A device failed to prepare operations (``culprits``) whose verdicts were positive."""

    def __init__(self, device: str, model: Model, culprits: Sequence[int], error: NnapiError) -> None:
        self.device, self.model, self.culprits, self.kind = device, model, culprits, type(error)
        super().__init__(f"{device} claimed {name_operations(culprits)}, but failed to prepare: {error}")


class NotRestoredError(Exception):
    """The cache has no entry from which a device can restore the prepared model."""


def prepare_plan(
    plan: Plan,
    devices: Sequence[Device],
    options: PrepareOptions,
    cache: Cache | None,
    guard: Guard | None = None,
    *,
    is_cached: bool = False,
) -> ReadyPlan:
    """Prepare every partition of a plan; raise ClaimedError if a device fails to prepare operations that it claimed.
    With ``is_cached``, only restore them; NotRestoredError if that is impossible."""
    by_name = {device.name: device for device in devices}
    partitions: list[PreparedPartition] = []
    options = options._replace(variant=plan.variant)

    def prepare_run(source: Plan, run: Run) -> Openable:
        device = by_name[run.device]
        partition = _prepare_partition(device, plan.model, source.model, run, options, cache, is_cached=is_cached)
        partitions.append(partition)
        queued = queue_on_device(device, run, partition.prepared, options)
        name = f"{run.device} on {name_operations(run.operations)}"
        return guard(name, run.model, {run.device}, queued) if guard else queued

    if plan.is_simple:
        return ReadyPlan(plan, prepare_run(plan, plan.only_run), partitions)
    from nnapi.runtime.executors.steps import PreparedPlan  # on demand: most plans have one device

    whole = PreparedPlan(plan, prepare_run)
    name = f"the plan of {plan.model.name}"
    return ReadyPlan(plan, guard(name, plan.model, {*plan.devices}, whole) if guard else whole, partitions)


def queue_on_device(device: Device, run: Run, prepared: Prepared, options: PrepareOptions) -> OnDevice:
    """Return a prepared model in its device's queue; traces name the operations by their numbers in the whole model."""
    section = Section(device.layer, Phase.EXECUTION, device.name, model=run.model.name, operations=list(run.operations))
    check = OutputCheck(device.name, run.model)
    return OnDevice(device, prepared, check, options.priority, section, partial(note_death, device.driver, run.model))


def name_operations(operations: Sequence[int]) -> str:
    """Return the numbers of operations as text, the first four at most."""
    shown = ", ".join(f"#{number}" for number in operations[:4])
    return f"operation {shown}" if len(operations) == 1 else f"operations {shown}{'…' if operations[4:] else ''}"


def _prepare_partition(
    device: Device,
    whole: Model,
    source: Model,
    run: Run,
    options: PrepareOptions,
    cache: Cache | None,
    *,
    is_cached: bool,
) -> PreparedPartition:
    """Prepare a partition of ``source``, the ``whole`` model or one within."""
    operations, restored = _find_operations(whole, source, run), None
    try:
        if cache is not None and device.caches is not None:
            restored = cache.restore(device, run.model, options, operations)
            if restored is None:
                if is_cached:
                    raise NotRestoredError
                hash_content(run.model)  # hash before preparing: files of constants may change
        prepared = prepare_by_driver(device, run.model, options) if restored is None else restored
        return PreparedPartition(device, run.model, operations, prepared, is_restored=restored is not None)
    except MissedDeadlineError:
        raise
    except NnapiError as error:
        raise ClaimedError(device.name, source, _find_culprits(device, run, options, error), error) from error


def _find_operations(whole: Model, source: Model, run: Run) -> OperationIndices:
    """Return a partition's identity: for each operation the index of its model (0 for the main one) and its number.
    Empty for a whole model."""
    if run.model is whole:
        return ()
    index = list_nested(whole)[::-1].index(source)
    return [(index, number) for number in run.operations]


def _find_culprits(device: Device, run: Run, options: PrepareOptions, error: NnapiError) -> Sequence[int]:
    """Return the operations that the device cannot prepare alone; all if each can be. An operation that ends the
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
    """Prepare a model by the device's driver; any error is raised as an NnapiError."""
    try:
        with span(device.layer, Phase.COMPILATION, "prepareModel", device=device.name, model=model.name):
            return run_in_time(partial(device.adapter.prepare, model, options), options.deadline, device.name)
    except NnapiError:
        raise
    except Exception as error:
        raise wrap_error(error, device.name) from error
    finally:
        note_preparation()
