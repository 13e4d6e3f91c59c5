"""Knowledge of the plan for a model on these devices: five states, and the record that processes share.

A record belongs to the model's content, the devices with their versions, the processor and the options.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

from nnapi.codes import PreferenceCode
from nnapi.drivers.base import Prepared, PrepareOptions
from nnapi.model.content_hash import hash_content
from nnapi.model.model import Model
from nnapi.runtime.cache.compilation_cache import Cache
from nnapi.runtime.cache.plan_cache import KeptPlans
from nnapi.runtime.costs.processor import name_processor
from nnapi.runtime.device import Device
from nnapi.runtime.planning.exclusions import exclusions_of
from nnapi.runtime.planning.plan import Plan
from nnapi.runtime.settings import tunes
from nnapi.store.digest import digest
from nnapi.store.directories import RecordKind
from nnapi.store.records import forget_record, keep_record, recall_record

FORMAT = 1
"""Of records, and of the timings that predictions come from."""


class Question(NamedTuple):
    """A model and the devices, options and cache that a plan is wanted for."""

    model: Model
    devices: Sequence[Device]
    options: PrepareOptions
    cache: Cache | None = None

    @property
    def usable(self) -> list[Device]:
        """The devices whose engines work in this process."""
        return [device for device in self.devices if not device.is_out]

    @property
    def kept(self) -> KeptPlans | None:
        """The plans in the cache; None where nothing may be cached: what a profile says of a device may change."""
        if self.cache is None or not all(device.is_measured for device in self.devices):
            return None
        return KeptPlans(self.cache, self.model, self.devices, self.options, self.has_choice)

    @property
    def has_choice(self) -> bool:
        """Whether trials may decide."""
        return not self.find_reason()

    def find_reason(self) -> str:
        """Say why there is nothing to decide by trials; nothing where there is."""
        if not tunes():
            return "tuning is off"
        if self.options.preference == PreferenceCode.PREFER_LOW_POWER:
            return "the plan follows declared power"
        if not all(device.is_measured for device in self.devices):
            return "a device stands for one elsewhere"
        return ""

    @property
    def key(self) -> str:
        """The key of the record."""
        versions = [(each.name, each.version, *sorted(exclusions_of(each.driver).reasons)) for each in self.usable]
        cpus, options = len(os.sched_getaffinity(0)), self.options
        others = repr((FORMAT, versions, int(options.preference), options.threads, cpus, name_processor())).encode()
        return digest(hash_content(self.model), others).hex()


class Comparison(NamedTuple):
    """A plan beside the active one: its log ratios so far, its standing, and why it is excluded, if it is."""

    description: str
    predicted: float
    logs: Sequence[float]
    standing: str
    reason: str = ""


class Record(NamedTuple):
    """A decision: the device of a whole model with its variant, or the identity of a divided plan; the threads; the
    median seconds of its runs; and the plans that it was compared with."""

    state: str
    device: str
    variant: str
    identity: str
    operations: int
    threads: int | None
    predicted: float
    seconds: float | None = None
    comparisons: Sequence[Comparison] = ()

    @classmethod
    def of(cls, state: str, plan: Plan, seconds: float | None = None, comparisons: Sequence[Comparison] = ()) -> Self:
        """Describe a plan. What no trial has looked at is not explained either: that takes asking all devices."""
        measured = state == MEASURED
        if plan.is_simple:
            run = plan.only_run
            what = run.device, plan.form, "", len(run.operations)
        else:
            what = "", "", plan.identity, 0
        return cls(state, *what, plan.threads, plan.predicted if measured else 0.0, seconds, comparisons)


MEASURED, PREDICTED, TINY = "measured", "predicted", "tiny"


class Cached(NamedTuple):
    """The plan and its prepared model are in the compilation cache."""

    plan: Plan
    device: Device
    prepared: Prepared


class Measured(NamedTuple):
    """Trials have decided."""

    record: Record


class Predicted(NamedTuple):
    """A plan was predicted; trials have not decided yet."""

    record: Record


class Unknown(NamedTuple):
    """Nothing is known."""


class Fixed(NamedTuple):
    """There is nothing to decide by trials, with the reason; the record of a tiny model's plan."""

    reason: str
    record: Record | None = None


Knowledge = Cached | Measured | Predicted | Unknown | Fixed


def recall(question: Question) -> Knowledge:
    """Recall what is known; the cache is asked first."""
    kept = question.kept
    if kept is not None and (found := kept.recall()):
        return Cached(*found)
    reason = question.find_reason() or ("" if len(question.usable) > 1 else "there is one device")
    if reason:
        return Fixed(reason)
    record = recall_record(RecordKind.PLANS, question.key, parse)
    if record is None:
        return Unknown()
    if record.state == TINY:
        return Fixed("the model is tiny", record)
    return Measured(record) if record.state == MEASURED else Predicted(record)


def keep(question: Question, key: str, record: Record) -> None:
    """Keep a record for later processes."""
    device = record.device or record.identity
    keep_record(RecordKind.PLANS, key, record._asdict(), model=question.model.name, device=device)


def forget(key: str) -> None:
    """Forget a record."""
    forget_record(RecordKind.PLANS, key)


def parse(data: Any) -> Record:
    """Parse a record; ValueError, KeyError, TypeError or AttributeError for anything else."""
    record = Record(**{name: data[name] for name in Record._fields})
    comparisons = [Comparison(*each) for each in record.comparisons]
    numbers = [record.predicted, record.seconds or 0.0, *(log for each in comparisons for log in each.logs)]
    if record.state not in (MEASURED, PREDICTED, TINY) or not all(isinstance(each, int | float) for each in numbers):
        raise ValueError(f"{data!r} is not a record of a plan")
    return record._replace(comparisons=comparisons, device=str(record.device), variant=str(record.variant))
