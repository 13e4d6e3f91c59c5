"""From a question to a prepared plan: recall or predict it, prepare it, record and cache it.

| knowledge | compilation | afterwards |
|---|---|---|
| Cached | restore | trials if runs take much longer or shorter than recorded |
| Measured | prepare the recorded plan | the same |
| Predicted | prepare the recorded plan | trials |
| Unknown | predict, prepare, record | trials |
| Fixed | prepare | nothing |
"""

from collections.abc import Sequence
from functools import partial

from nnapi.codes import DeviceTypeCode
from nnapi.contract.driver import Prepared, PrepareOptions
from nnapi.errors import BadDataError, NnapiError, UnexpectedNullError, need_value
from nnapi.model.model import Model
from nnapi.model.nesting import list_nested
from nnapi.runtime.choice.knowledge import Cached, Fixed, Knowledge, Measured, Predicted, Unknown, cache_plan, recall
from nnapi.runtime.choice.question import Question
from nnapi.runtime.choice.record import PREDICTED, TINY, Record, keep
from nnapi.runtime.device import REFERENCE, Device
from nnapi.runtime.executors.prepared_partitions import (
    ClaimedError,
    Guard,
    ReadyPlan,
    name_operations,
    prepare_by_driver,
    prepare_plan,
    queue_on_device,
)
from nnapi.runtime.executors.wrappers import Fallback
from nnapi.runtime.planning.plan import Plan, Run
from nnapi.runtime.settings import Partitioning
from nnapi.trace.log import Log

log = Log("nnapi.CompilationBuilder")


def prepare(question: Question, mode: Partitioning) -> tuple[ReadyPlan, Knowledge]:
    """Prepare the plan for a question. In mode WITH_FALLBACK, the CPU repeats a failed preparation or run."""
    if mode is Partitioning.NONE:
        cpu = find_cpu(question.devices)
        return _prepare_on_cpu(question.model, cpu, question.options), Fixed("everything is for the CPU")
    spare = _find_spare(question, mode)
    if spare is None:
        return _decide(question, None)
    try:
        ready, knowledge = _decide(question, partial(_guard, spare))
    except (BadDataError, UnexpectedNullError):
        raise
    except NnapiError as error:
        if not _can_replace(spare, question.model):
            raise
        log.warning("compilation failed, falling back to the CPU: %s", error)
        return _prepare_on_cpu(question.model, spare, PrepareOptions()), Fixed("the compilation failed")
    return with_fallback(ready, question, mode), knowledge


def _decide(question: Question, guard: Guard | None) -> tuple[ReadyPlan, Knowledge]:
    knowledge = recall(question)
    if isinstance(knowledge, Cached):
        plan, device, prepared = knowledge
        queued = queue_on_device(device, plan.only_run, prepared, question.options)
        return ReadyPlan(plan, guard(plan.only_run, queued) if guard else queued), knowledge
    ready = None
    if isinstance(knowledge, Measured | Predicted | Fixed) and knowledge.record:
        ready = _prepare_recorded(question, knowledge.record, guard)
    if ready is None:
        ready, knowledge = _prepare_predicted(question, knowledge, guard)
    cache_plan(question, ready, is_decided=isinstance(knowledge, Measured | Fixed))
    return ready, knowledge


def _prepare_predicted(question: Question, knowledge: Knowledge, guard: Guard | None) -> tuple[ReadyPlan, Knowledge]:
    """Predict and prepare a plan. If a device fails to prepare operations, predict again without giving it these."""
    from nnapi.runtime.choice.predict import look_up, predict_plan  # on demand: known models need no prediction

    found = look_up(question)
    options = question.options._replace(threads=found.threads or question.options.threads)
    claims: list[ClaimedError] = []
    while True:
        plan = predict_plan(question, found, claims)
        try:
            ready = prepare_plan(plan, question.devices, options, question.cache, guard)
            break
        except ClaimedError as claim:
            log.warning("%s", claim)
            claims.append(claim)
    if isinstance(knowledge, Fixed):
        return ready, knowledge
    is_recorded = ready.plan.is_simple and not claims
    if found.is_tiny:
        if is_recorded and question.model.origin is not None:
            keep(question, question.key, Record.of(TINY, ready.plan))
        return ready, Fixed("the model is tiny")
    if is_recorded:
        keep(question, question.key, Record.of(PREDICTED, ready.plan))
    return ready, Unknown()


def _prepare_recorded(question: Question, record: Record, guard: Guard | None) -> ReadyPlan | None:
    """Prepare the plan of a record; return None if that fails."""
    plan = _find_recorded(question, record)
    if plan is None:
        return None
    options = question.options._replace(threads=plan.threads)
    try:
        return prepare_plan(plan, question.devices, options, question.cache, guard)
    except ClaimedError as claim:
        log.warning("%s: planning the model again", claim)
        return None


def _find_recorded(question: Question, record: Record) -> Plan | None:
    """Return the plan of a record, None if its device is missing. A plan for one device asks no device."""
    if record.device:
        is_here = any(device.name == record.device for device in question.devices)
        return record.make_plan(question) if is_here else None
    from nnapi.runtime.choice.predict import list_plans

    return next((plan for plan in list_plans(question, record.threads) if plan.identity == record.identity), None)


def with_fallback(ready: ReadyPlan, question: Question, mode: Partitioning) -> ReadyPlan:
    """Return the plan with a wrapper that repeats failed runs on the CPU, if ``mode`` permits that."""
    spare = _find_spare(question, mode)
    if spare is None or set(ready.plan.devices) == {spare.name}:
        return ready
    name, again = f"the plan of {question.model.name}", partial(_prepare_again, spare, question.model)
    return ready._replace(prepared=Fallback(name, ready.prepared, again))


def _find_spare(question: Question, mode: Partitioning) -> Device | None:
    return find_cpu(question.devices) if mode is Partitioning.WITH_FALLBACK else None


def find_cpu(devices: Sequence[Device]) -> Device | None:
    """Return the reference if it is among the devices, else the first device of type CPU, else None."""
    found = [device for device in devices if device.type == DeviceTypeCode.DEVICE_CPU]
    return next((device for device in found if device.name == REFERENCE), found[0] if found else None)


def _guard(cpu: Device, run: Run, prepared: Prepared) -> Prepared:
    if run.device == cpu.name:
        return prepared
    name = f"{run.device} on {name_operations(run.operations)}"
    return Fallback(name, prepared, partial(_prepare_again, cpu, run.model))


def _can_replace(cpu: Device, model: Model) -> bool:
    """Return whether the CPU supports the whole model; it does not support extension and OEM operations."""
    return all(all(cpu.supports(each)) for each in list_nested(model))


def _prepare_again(cpu: Device, model: Model) -> Prepared | None:
    return cpu.driver.prepare(model, PrepareOptions()) if _can_replace(cpu, model) else None


def _prepare_on_cpu(model: Model, cpu: Device | None, options: PrepareOptions) -> ReadyPlan:
    from nnapi.runtime.planning.planner import make_plan

    cpu = need_value(cpu, "there is no CPU device to compile the whole model for")
    plan = make_plan(model, [cpu], options.preference)
    return ReadyPlan(plan, queue_on_device(cpu, plan.only_run, prepare_by_driver(cpu, model, options), options))
