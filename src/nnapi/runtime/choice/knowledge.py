"""Knowledge of the plan for a model, from the cache and from records, and the caching of plans."""

import json
from typing import TYPE_CHECKING, NamedTuple

from nnapi.runtime.choice.question import Question
from nnapi.runtime.choice.record import MEASURED, PREDICTED, TINY, Record, parse
from nnapi.runtime.executors.prepared_partitions import ReadyPlan
from nnapi.runtime.planning.plan import UNKNOWN, Alternative, Plan
from nnapi.store.directories import RecordKind
from nnapi.store.records import keep_record, recall_record
from nnapi.trace.log import Log

if TYPE_CHECKING:
    from nnapi.runtime.choice.predict import Prediction

log = Log("nnapi.CompilationCache")


class Cached(NamedTuple):
    """The compilation cache holds the plan, with its notes and times. The entry may have the prepared model."""

    record: Record
    notes: tuple[str, ...]
    times: tuple[float, float, tuple[Alternative, ...]] | None

    def complete(self, plan: Plan) -> Plan:
        """Return the recorded plan with the notes and times."""
        plan = plan.with_notes(self.notes)
        return plan.with_times(*self.times) if self.times else plan


class Measured(NamedTuple):
    record: Record


class Predicted(NamedTuple):
    record: Record


class Unknown(NamedTuple):
    """Neither the cache nor a record has a plan."""

    record: None = None


class Fixed(NamedTuple):
    """No trial takes place, for ``reason``. Only tiny models have a record."""

    reason: str
    record: Record | None = None


Knowledge = Cached | Measured | Predicted | Unknown | Fixed


def recall_plan(question: Question) -> tuple[Knowledge, Plan | None]:
    """Return the knowledge and its plan: None if there is none, or if its device is missing. A plan for one device asks
    no device."""
    knowledge = recall(question)
    record = knowledge.record
    if record is None or record.device:
        plan = record and record.make_plan(question)
        return knowledge, knowledge.complete(plan) if plan and isinstance(knowledge, Cached) else plan
    from nnapi.runtime.choice.predict import list_plans  # on demand: few recorded plans have several devices

    plans = list_plans(question, record.threads)
    return knowledge, next((plan for plan in plans if plan.identity == record.identity), None)


def recall(question: Question) -> Knowledge:
    if found := _recall_cached(question):
        return found
    reason = question.reason or ("" if len(question.usable) > 1 else "there is one device")
    if reason:
        return Fixed(reason)
    record = recall_record(RecordKind.PLANS, question.key, parse)
    if record is None:
        return Unknown()
    if record.state == TINY:
        return Fixed("the model is tiny", record)
    return Measured(record) if record.state == MEASURED else Predicted(record)


def _recall_cached(question: Question) -> Cached | None:
    cache = question.cache
    if cache is None or not _may_cache(question):
        return None
    for device in question.usable:
        text = cache.recall_plan(device, question.options) if device.caches else b""
        if not text:
            continue
        try:
            found = json.loads(text)
            if found["conditions"] != question.conditions or found["device"] != device.name:
                continue
            times = None
            if found["times"]:
                predicted, measured, compared = found["times"]
                times = predicted, measured, tuple(Alternative(*each) for each in compared)
            operations, threads, variant = int(found["operations"]), found["threads"], str(found["variant"])
            record = Record("", device.name, variant, "", operations, threads, UNKNOWN)
            return Cached(record, tuple(found["notes"]), times)
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            log.debug("the plan cached for %s does not fit %s: %r", device, question.model.name, error)
    return None


def keep(question: Question, key: str, record: Record) -> None:
    device = record.device or record.identity
    keep_record(RecordKind.PLANS, key, record._asdict(), model=question.model.name, device=device)


def keep_plan(question: Question, knowledge: Knowledge, ready: ReadyPlan, prediction: "Prediction | None") -> Knowledge:
    """Cache a prepared plan, and record it if it is a new ``prediction``. Return the knowledge from now on."""
    if prediction is None or isinstance(knowledge, Fixed):
        cache_plan(question, ready, is_decided=isinstance(knowledge, Measured | Fixed))
        return knowledge
    is_tiny = prediction.is_tiny
    cache_plan(question, ready, is_decided=is_tiny)
    if prediction.is_whole and ready.plan.is_simple and (not is_tiny or question.model.origin is not None):
        keep(question, question.key, Record.of(TINY if is_tiny else PREDICTED, ready.plan))
    return Fixed("the model is tiny") if is_tiny else Unknown()


def cache_plan(question: Question, ready: ReadyPlan, *, is_decided: bool) -> None:
    """Cache the prepared partitions; if ``is_decided`` and one device runs the whole model, also the plan."""
    cache, plan = question.cache, ready.plan
    if cache is None or not _may_cache(question):
        return
    options = question.options._replace(threads=plan.threads, variant=plan.variant)
    is_for_all = len(question.usable) == len(question.devices)  # else the choice holds for this process only
    for partition in ready.partitions:
        is_whole = is_decided and partition.model is question.model and is_for_all
        text = _write_plan(question, plan) if is_whole else b""
        if not partition.is_restored:
            cache.keep(partition.device, partition.model, options, partition.prepared, partition.operations, text)
        elif text:
            cache.keep_plan(partition.device, partition.model, options, text)  # the cache has the payload


def replace_cached(question: Question, before: Plan, ready: ReadyPlan) -> None:
    """Cache a decided plan, and remove the entry of the plan ``before`` it."""
    cache = question.cache
    if cache is not None and before.is_simple and before.identity != ready.plan.identity:
        for device in question.devices:
            if device.name == before.devices[0]:
                cache.forget(device, question.options)
    cache_plan(question, ready, is_decided=True)


def _write_plan(question: Question, plan: Plan) -> bytes:
    times = None if plan.measured is None else (plan.predicted, plan.measured, plan.alternatives)
    found = {
        "conditions": question.conditions,
        "device": plan.only_run.device,
        "operations": len(plan.only_run.operations),
        "threads": plan.threads,
        "variant": plan.variant,
        "notes": plan.notes,
        "times": times,
    }
    return json.dumps(found).encode()


def _may_cache(question: Question) -> bool:
    """Return whether plans may be cached. A simulated device's may not, since its profile can change."""
    return all(device.is_measured for device in question.devices)
